package relay

import (
	"fmt"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// refusal is why a link is not made or ends: the word for both sides and the sentence for this side's operator.
type refusal struct {
	reason wire.Reason
	detail string
}

func (r *refusal) Error() string { return string(r.reason) + ": " + r.detail }

// WireReason is the word.
func (r *refusal) WireReason() wire.Reason { return r.reason }

func refuse(reason wire.Reason, format string, args ...any) *refusal {
	return &refusal{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// ownLane is what this hub knows of the lane it writes.
type ownLane struct {
	epochID [16]byte
	out     hub.LaneOut
	hashAt  func(seq uint64) ([32]byte, bool)
}

// fenceTheirs judges what the peer holds of our lane; nil lets the link be.
func (l ownLane) fenceTheirs(theirs frame.Position) *refusal {
	switch {
	case theirs.Seq == 0 && l.out.Acked == 0:
		return nil
	case theirs.Seq < l.out.Acked:
		return refuse(wire.ReasonRewound, "the peer acknowledged record %d and now holds only %d: its journal went back",
			l.out.Acked, theirs.Seq)
	case theirs.EpochID != l.epochID:
		return refuse(wire.ReasonRewound, "the peer holds %d records of another epoch of this hub", theirs.Seq)
	case theirs.Seq > l.out.Head:
		return refuse(wire.ReasonRewound, "the peer holds record %d and this hub's lane ends at %d: this journal went back",
			theirs.Seq, l.out.Head)
	}
	return l.fenceHash(theirs)
}

func (l ownLane) fenceHash(theirs frame.Position) *refusal {
	hash, ok := l.hashAt(theirs.Seq)
	switch {
	case !ok: // the core knows every hash the peer may name; to go on unchecked would be a guess
		return refuse(wire.ReasonInternalError, "no hash of this hub's lane at record %d", theirs.Seq)
	case hash != theirs.Hash:
		return refuse(wire.ReasonCloned, "the peer holds other records up to %d than this hub sent", theirs.Seq)
	}
	return nil
}

// fenceOurs judges what we hold of the peer's lane by what the peer says of it. Only the peer can check the hash.
func fenceOurs(ours *frame.Position, theirs *frame.Hello) *refusal {
	switch {
	case ours.Seq < theirs.Out.Acked:
		return refuse(wire.ReasonRewound, "the peer has our acknowledgement of record %d and we hold only %d: this journal went back",
			theirs.Out.Acked, ours.Seq)
	case ours.Seq == 0:
		return nil
	case ours.EpochID != theirs.EpochID:
		return refuse(wire.ReasonRewound, "we hold %d records of another epoch of the peer", ours.Seq)
	case ours.Seq > theirs.Out.Head:
		return refuse(wire.ReasonRewound, "we hold record %d and the peer's lane ends at %d: its journal went back",
			ours.Seq, theirs.Out.Head)
	}
	return nil
}
