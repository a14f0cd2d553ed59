package journal

import "google.golang.org/protobuf/encoding/protowire"

// LaneAdopted takes up the epoch in which a peer counts its lane to us anew, as an operator allowed: our cursor stands at
// its beginning. What the two sides' memories of the lane differ in is named here and nowhere else.
type LaneAdopted struct {
	Peer    string
	Epoch   uint64
	EpochID [16]byte
	Seq     uint64 // record before the first of the epoch
	Hash    [32]byte
	// LostFrom to LostTo are records that the peer has our acknowledgement of and that we do not hold; 0 for none.
	LostFrom, LostTo uint64
	// HeldFrom to HeldTo are records that we hold and that the peer does not know of any more; 0 for none.
	HeldFrom, HeldTo uint64
}

// Kind is KindLaneAdopted.
func (LaneAdopted) Kind() Kind { return KindLaneAdopted }

// Append appends the record's fields to dst.
func (r LaneAdopted) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendUint(dst, 2, r.Epoch)
	dst = appendFixed(dst, 3, r.EpochID[:])
	dst = appendUint(dst, 4, r.Seq)
	dst = appendFixed(dst, 5, r.Hash[:])
	dst = appendUint(dst, 6, r.LostFrom)
	dst = appendUint(dst, 7, r.LostTo)
	dst = appendUint(dst, 8, r.HeldFrom)
	return appendUint(dst, 9, r.HeldTo)
}

// ParseLaneAdopted reads what Append wrote; unknown fields are an error.
func ParseLaneAdopted(attrs []byte) (LaneAdopted, error) {
	return parse(attrs, false, (*LaneAdopted).field)
}

func (r *LaneAdopted) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.Epoch = d.uint()
	case 3:
		d.fixed(r.EpochID[:])
	case 4:
		r.Seq = d.uint()
	case 5:
		d.fixed(r.Hash[:])
	case 6:
		r.LostFrom = d.uint()
	case 7:
		r.LostTo = d.uint()
	case 8:
		r.HeldFrom = d.uint()
	case 9:
		r.HeldTo = d.uint()
	default:
		d.unknown()
	}
}
