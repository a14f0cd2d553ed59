package journal

import "google.golang.org/protobuf/encoding/protowire"

// LaneResumed says that a peer has taken up the epoch that our lane to it was reconciled with. Receipts in its own lane up
// to Until speak of records of the epoch before.
type LaneResumed struct {
	Peer  string
	Until uint64
}

// Kind is KindLaneResumed.
func (LaneResumed) Kind() Kind { return KindLaneResumed }

// Append appends the record's fields to dst.
func (r LaneResumed) Append(dst []byte) []byte {
	return appendUint(appendText(dst, 1, r.Peer), 2, r.Until)
}

// ParseLaneResumed reads what Append wrote; unknown fields are an error.
func ParseLaneResumed(attrs []byte) (LaneResumed, error) {
	return parse(attrs, false, (*LaneResumed).field)
}

func (r *LaneResumed) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.Until = d.uint()
	default:
		d.unknown()
	}
}
