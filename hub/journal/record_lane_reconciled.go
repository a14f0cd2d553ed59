package journal

import "google.golang.org/protobuf/encoding/protowire"

// LaneReconciled is an operator's word that a peer's journal, or this one, went back or was copied, and that both lanes
// begin anew where the two still agree. With an epoch our lane to the peer is counted in it from after Base on; in any case
// the next epoch that the peer names for its lane to us is taken.
type LaneReconciled struct {
	Peer     string
	By, User string // who said so, and the admin socket user
	Epoch    uint64
	EpochID  [16]byte
	Base     uint64   // last record that the peer acknowledged
	BaseHash [32]byte // the lane's rolling hash there
	Head     uint64   // last record of our lane: those after Base go again
}

// Kind is KindLaneReconciled.
func (LaneReconciled) Kind() Kind { return KindLaneReconciled }

// Append appends the record's fields to dst.
func (r LaneReconciled) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendText(dst, 2, r.By)
	dst = appendText(dst, 3, r.User)
	dst = appendUint(dst, 4, r.Epoch)
	dst = appendFixed(dst, 5, r.EpochID[:])
	dst = appendUint(dst, 6, r.Base)
	dst = appendFixed(dst, 7, r.BaseHash[:])
	return appendUint(dst, 8, r.Head)
}

// ParseLaneReconciled reads what Append wrote; unknown fields are an error.
func ParseLaneReconciled(attrs []byte) (LaneReconciled, error) {
	return parse(attrs, false, (*LaneReconciled).field)
}

func (r *LaneReconciled) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.By = d.text()
	case 3:
		r.User = d.text()
	case 4:
		r.Epoch = d.uint()
	case 5:
		d.fixed(r.EpochID[:])
	case 6:
		r.Base = d.uint()
	case 7:
		d.fixed(r.BaseHash[:])
	case 8:
		r.Head = d.uint()
	default:
		d.unknown()
	}
}
