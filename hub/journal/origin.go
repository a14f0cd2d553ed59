package journal

import "google.golang.org/protobuf/encoding/protowire"

// Origin is where a record was first accepted, kept for its life. (Hub, EpochID, LaneSeq) is its identity here.
type Origin struct {
	Hub                       string
	Epoch                     uint64
	EpochID                   [16]byte
	LaneSeq, MsgID            uint64
	AcceptedUS                int64 // Unix microseconds on the origin's clock
	Sender, Principal, Target string
}

func appendOrigin(dst []byte, num protowire.Number, o *Origin) []byte {
	var buf [512]byte
	return appendBytes(dst, num, o.append(buf[:0]))
}

func (o *Origin) append(dst []byte) []byte {
	dst = appendText(dst, 1, o.Hub)
	dst = appendUint(dst, 2, o.Epoch)
	dst = appendFixed(dst, 3, o.EpochID[:])
	dst = appendUint(dst, 4, o.LaneSeq)
	dst = appendUint(dst, 5, o.MsgID)
	dst = appendUint(dst, 6, uint64(o.AcceptedUS))
	dst = appendText(dst, 7, o.Sender)
	dst = appendText(dst, 8, o.Principal)
	return appendText(dst, 9, o.Target)
}

func (d *decoder) origin() Origin {
	v := d.bytes()
	d.single(false)
	o, err := parse(v, d.lax, (*Origin).field)
	if err != nil {
		d.fail(err)
	}
	return o
}

func (o *Origin) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		o.Hub = d.text()
	case 2:
		o.Epoch = d.uint()
	case 3:
		d.fixed(o.EpochID[:])
	case 4:
		o.LaneSeq = d.uint()
	case 5:
		o.MsgID = d.uint()
	case 6:
		o.AcceptedUS = d.int()
	case 7:
		o.Sender = d.text()
	case 8:
		o.Principal = d.text()
	case 9:
		o.Target = d.text()
	default:
		d.unknown()
	}
}
