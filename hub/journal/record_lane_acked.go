package journal

import "google.golang.org/protobuf/encoding/protowire"

// LaneAcked is how far a peer has durably taken our lane to it.
type LaneAcked struct {
	Peer    string
	LaneSeq uint64
	Hash    [32]byte // the lane's rolling hash up to and including LaneSeq
	Bytes   uint64   // of all bodies of the lane up to and including LaneSeq
}

// Kind is KindLaneAcked.
func (LaneAcked) Kind() Kind { return KindLaneAcked }

// Append appends the record's fields to dst.
func (r LaneAcked) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendUint(dst, 2, r.LaneSeq)
	dst = appendFixed(dst, 3, r.Hash[:])
	return appendUint(dst, 4, r.Bytes)
}

// ParseLaneAcked reads what Append wrote; unknown fields are an error.
func ParseLaneAcked(attrs []byte) (LaneAcked, error) { return parse(attrs, false, (*LaneAcked).field) }

func (r *LaneAcked) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.LaneSeq = d.uint()
	case 3:
		d.fixed(r.Hash[:])
	case 4:
		r.Bytes = d.uint()
	default:
		d.unknown()
	}
}
