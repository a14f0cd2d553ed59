package journal

import "google.golang.org/protobuf/encoding/protowire"

// RecordWithdrawn ends a chat for another hub that never left within its time; it also creates the notification row. The
// record keeps its place in the lane and is sent without its body. With Origin it is such a record of a peer, taken here
// to pass its number, and nothing else but LaneHash and Reason is set.
type RecordWithdrawn struct {
	Peer                                 string
	LaneSeq, ChatSeq, MsgID              uint64
	Sender, Target                       string
	ClientMsgID, ClientTimestamp, Reason string
	LaneHash                             [32]byte // the lane's rolling hash up to and including this record
	Bytes, Through                       uint64   // of its body, and of all bodies of the lane up to and including it
	Origin                               *Origin
}

// Kind is KindRecordWithdrawn.
func (RecordWithdrawn) Kind() Kind { return KindRecordWithdrawn }

// Append appends the record's fields to dst.
func (r RecordWithdrawn) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendUint(dst, 2, r.LaneSeq)
	dst = appendUint(dst, 3, r.ChatSeq)
	dst = appendUint(dst, 4, r.MsgID)
	dst = appendText(dst, 5, r.Sender)
	dst = appendText(dst, 6, r.Target)
	dst = appendText(dst, 7, r.ClientMsgID)
	dst = appendText(dst, 8, r.ClientTimestamp)
	dst = appendText(dst, 9, r.Reason)
	dst = appendFixed(dst, 10, r.LaneHash[:])
	dst = appendUint(dst, 11, r.Bytes)
	dst = appendUint(dst, 12, r.Through)
	if r.Origin != nil {
		dst = appendOrigin(dst, 13, r.Origin)
	}
	return dst
}

// ParseRecordWithdrawn reads what Append wrote; unknown fields are an error.
func ParseRecordWithdrawn(attrs []byte) (RecordWithdrawn, error) {
	return parse(attrs, false, (*RecordWithdrawn).field)
}

func (r *RecordWithdrawn) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.LaneSeq = d.uint()
	case 3:
		r.ChatSeq = d.uint()
	case 4:
		r.MsgID = d.uint()
	case 5:
		r.Sender = d.text()
	case 6:
		r.Target = d.text()
	case 7:
		r.ClientMsgID = d.text()
	case 8:
		r.ClientTimestamp = d.text()
	case 9:
		r.Reason = d.text()
	case 10:
		d.fixed(r.LaneHash[:])
	case 11:
		r.Bytes = d.uint()
	case 12:
		r.Through = d.uint()
	case 13:
		o := d.origin()
		r.Origin = &o
	default:
		d.unknown()
	}
}
