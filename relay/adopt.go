package relay

import (
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// adopt takes up the epoch in which the peer counts its lane anew, if an operator has allowed it and the peer names one. It
// must be called only while no link is up.
func (o *owner) adopt(s *session) (done bool, err error) {
	core, h := o.relay.core, &s.theirs
	in := core.LaneIn(o.peer)
	if !core.Reconciling(o.peer) || h.EpochID == in.EpochID {
		return false, nil
	}
	err = core.AdoptLane(o.ctx, o.peer, hub.LaneEpoch{
		Epoch: hub.Epoch{Number: h.Epoch, ID: h.EpochID}, Base: h.Base.Seq, BaseHash: h.Base.Hash,
	})
	if err != nil {
		return false, err
	}
	o.relay.opt.Log.Warn("the peer's lane begins anew", "peer", o.peer, "held_up_to", in.Seq, "begins_after", h.Base.Seq,
		"lost", max(h.Base.Seq, in.Seq)-in.Seq, "unknown_there", max(h.Base.Seq, in.Seq)-h.Base.Seq)
	return true, nil
}

// answered takes the hello that came back on a connection of ours. What it makes us take up is not in our own hello, which
// is with the peer: that has to be said again, at once.
func (o *owner) answered(s *session, ours frame.Hello) {
	done, err := o.adopt(s)
	switch {
	case err != nil:
		o.giveUp(s, err)
	case done:
		o.relay.running.Go(func() { sayGoodbye(s.conn, wire.ReasonRewound) })
		o.note(ended{reason: wire.ReasonRewound, detail: "the peer's lane was taken up where it begins anew"})
		o.dialAfter(0)
		o.rest(wire.ReasonRewound)
	default:
		o.admit(s, ours)
	}
}

// giveUp ends a session that the core could not deal with.
func (o *owner) giveUp(s *session, err error) {
	why := refuse(reasonOf(err, wire.ReasonInternalError), "preparing a link: %v", err)
	o.relay.running.Go(func() { sayGoodbye(s.conn, why.reason) })
	o.failed(ended{reason: why.reason, detail: why.detail}, s.dialled)
}

// lastWord is what a refused peer hears before the goodbye: our hello, if its cursor is of an epoch that our lane has left.
// It may be allowed to take up the new one, and cannot learn of it otherwise if it is always the one that calls.
func lastWord(s *session, ours *frame.Hello) []byte {
	if ours.Epoch == 1 || s.dialled || s.theirs.In.Seq == 0 || s.theirs.In.EpochID == ours.EpochID {
		return nil // a lane that is in its first epoch has never left one
	}
	return ours.Append(nil)
}
