package journal

import "google.golang.org/protobuf/encoding/protowire"

// VerdictsSaid is what this hub says, in one turn, of chats of another one. It is a record of our lane to that hub.
type VerdictsSaid struct {
	Dest     string // that hub
	LaneSeq  uint64 // of this record in our lane to it
	Verdicts []ReceiptSettled
}

// Kind is KindVerdictsSaid.
func (VerdictsSaid) Kind() Kind { return KindVerdictsSaid }

// Append appends the record's fields to dst.
func (r VerdictsSaid) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Dest)
	dst = appendUint(dst, 2, r.LaneSeq)
	var buf [512]byte
	for i := range r.Verdicts {
		dst = appendBytes(dst, 3, r.Verdicts[i].Append(buf[:0]))
	}
	return dst
}

// ParseVerdictsSaid reads what Append wrote; unknown fields are an error.
func ParseVerdictsSaid(attrs []byte) (VerdictsSaid, error) {
	return parse(attrs, false, (*VerdictsSaid).field)
}

func (r *VerdictsSaid) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Dest = d.text()
	case 2:
		r.LaneSeq = d.uint()
	case 3:
		v, err := parse(d.bytes(), d.lax, (*ReceiptSettled).field)
		if err != nil {
			d.fail(err)
		}
		r.Verdicts = append(r.Verdicts, v)
	default:
		d.unknown()
	}
}

// check refuses a record that says nothing.
func (r *VerdictsSaid) check() error {
	if len(r.Verdicts) == 0 {
		return errIncomplet
	}
	return nil
}
