package hub

import (
	"context"
	"fmt"
	"io"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// A journal that was restored from a backup, or that runs twice, is fenced by its
// peers: their memory of the lanes and its own contradict each other. When an
// operator on each side says so, both lanes begin anew where the two still agree:
//
//	this side                                        the other side
//	  our lane: a new epoch after the last
//	  acknowledged record (Reconcile)    ─ hello ─▶  cursor to where it begins (AdoptLane)
//	  its lane: cursor to where its
//	  new epoch begins (AdoptLane)       ◀─ hello ─  its lane: a new epoch (Reconcile)
//
// Records keep their numbers and the lane its hash; only the epoch in which they
// are counted changes, so that nothing new is taken for a repetition of the old.

// LaneEpoch is the epoch in which our lane to a peer is counted, and where in the
// lane it begins.
type LaneEpoch struct {
	Epoch
	Base     uint64 // the record before its first, 0 unless the lane was reconciled
	BaseHash [32]byte
}

// Reconciliation says what reconciling with a peer does on this side.
type Reconciliation struct {
	Peer wire.HubID `json:"peer"`
	// Epoch is the number of our lane's new epoch, which begins after record Base.
	Epoch uint64 `json:"epoch"`
	Base  uint64 `json:"base"`
	// Again is how many records after Base go to the peer again, as they wait here.
	// Those among them that it took before the fault come twice.
	Again uint64 `json:"again"`
	// Held is the last record of the peer's lane that this hub holds. What of it the
	// peer does not know any more, and what it believes to be here and is not, is
	// found when its new epoch is taken up, and journalled as lane_adopted.
	Held uint64 `json:"held"`
	// Waits says that this side was reconciled before and the peer has not taken it
	// up yet: nothing new was done.
	Waits bool `json:"waits"`
}

// LaneEpoch is that of our lane to a peer.
func (h *Hub) LaneEpoch(peer wire.HubID) LaneEpoch {
	e := h.published.lane(peer).facts.lane.out
	if e.Number == 0 {
		e.Epoch = h.epoch
	}
	return e
}

// Reconciling says whether the next epoch that a peer names for its lane may be
// taken up.
func (h *Hub) Reconciling(peer wire.HubID) bool { return h.published.lane(peer).facts.lane.adopts }

// Reconcile is an operator's word, by name, that both lanes with a fenced peer are
// to begin anew; the peer's operator has to say the same. A dry run tells what it
// would do. The error is an [*Error]: unknown_hub.
func (h *Hub) Reconcile(ctx context.Context, peer wire.HubID, by, user string, dryRun bool) (Reconciliation, error) {
	var id [16]byte
	if _, err := io.ReadFull(h.opts.Rand, id[:]); err != nil {
		return Reconciliation{}, fmt.Errorf("hub: random epoch id: %w", err)
	}
	var done Reconciliation
	err := h.operate(ctx, func(v *view, d *draft) error {
		if _, ok := v.st.trust.Peer(peer); !ok {
			return &Error{Reason: wire.ReasonUnknownHub, Text: fmt.Sprintf("%s is no approved peer", peer), Next: "fleet peer list"}
		}
		rec := v.reconcile(peer, id)
		rec.By, rec.User = by, user
		done = reconciliationOf(v.st.laneOf(peer), &rec)
		if !dryRun && !done.Waits {
			d.add(v.now, rec)
		}
		return nil
	})
	if err != nil {
		return Reconciliation{}, err
	}
	if f := h.getForwarder(); f != nil && !dryRun {
		f.PeersChanged() // a fenced peer is called at once
	}
	return done, nil
}

// reconcile drafts what an operator's word means. An epoch that the peer has not
// taken up yet is kept: raising another would only undo what its operator did.
func (v *view) reconcile(peer wire.HubID, id [16]byte) journal.LaneReconciled {
	l := v.st.laneOf(peer)
	rec := journal.LaneReconciled{Peer: string(peer)}
	if l.facts.lane.resumes && l.acked <= l.facts.lane.out.Base {
		return rec
	}
	number := max(l.facts.lane.out.Number, v.st.epoch.Number) + 1
	rec.Epoch, rec.EpochID, rec.Base, rec.BaseHash, rec.Head = number, id, l.acked, l.ackHash, l.outHead
	return rec
}

func reconciliationOf(l lane, r *journal.LaneReconciled) Reconciliation {
	f := l.facts.lane
	done := Reconciliation{Peer: l.peer, Epoch: r.Epoch, Base: r.Base, Again: l.outHead - l.acked, Held: l.in.Seq}
	if r.Epoch == 0 {
		done.Epoch, done.Base, done.Waits = f.out.Number, f.out.Base, f.adopts
	}
	return done
}

// AdoptLane moves our cursor to where a peer begins its lane anew, if an operator
// has allowed it, and returns after the sync. What is lost by it is journalled.
func (h *Hub) AdoptLane(ctx context.Context, peer wire.HubID, e LaneEpoch) error {
	return h.ofPeer(ctx, peer, func(v *view, d *draft) error {
		l := v.st.laneOf(peer)
		if !l.facts.lane.adopts {
			return &Error{Reason: wire.ReasonRewound, Text: fmt.Sprintf("no operator has said that %s begins its lane anew", peer)}
		}
		rec := journal.LaneAdopted{Peer: string(peer), Epoch: e.Number, EpochID: e.ID, Seq: e.Base, Hash: e.BaseHash}
		switch {
		case e.Base > l.in.Seq:
			rec.LostFrom, rec.LostTo = l.in.Seq+1, e.Base
		case e.Base < l.in.Seq:
			rec.HeldFrom, rec.HeldTo = e.Base+1, l.in.Seq
		}
		d.add(v.now, rec)
		return nil
	})
}

// LaneTaken takes what a hello says of our lane: the peer's cursor in it, and where
// the peer's own lane ends. It returns at once unless our lane was reconciled and
// this is the first that the peer shows to have taken that up. All it has said in
// its lane until then is about the epoch before.
func (h *Hub) LaneTaken(ctx context.Context, peer wire.HubID, cursor Cursor, theirHead uint64) error {
	f := h.published.lane(peer).facts.lane
	if !f.resumes || cursor.Seq != f.out.Base || cursor.Seq > 0 && cursor.EpochID != f.out.ID {
		return nil
	}
	return h.ofPeer(ctx, peer, func(v *view, d *draft) error {
		if v.st.laneOf(peer).facts.lane.resumes {
			d.add(v.now, journal.LaneResumed{Peer: string(peer), Until: theirHead})
		}
		return nil
	})
}

// laneFacts is what reconciling has left behind.
type laneFacts struct {
	out     LaneEpoch // zero: the hub's own, from the beginning
	adopts  bool      // the next epoch of the peer's lane may be taken up
	resumes bool      // the peer has not taken up ours yet
	deaf    uint64    // verdicts of the peer up to here are about the epoch before
}

// past says whether a verdict that came as record seq of the peer's lane is about a
// record of ours that has another meaning since.
func (f *laneFacts) past(seq, about uint64) bool { return seq <= f.deaf && about > f.out.Base }

func (st *state) laneReconciled(r *journal.LaneReconciled) *lane {
	l := st.lane(wire.HubID(r.Peer))
	f := &l.facts.lane
	f.adopts = true
	if r.Epoch > 0 {
		f.out = LaneEpoch{Epoch: Epoch{Number: r.Epoch, ID: r.EpochID}, Base: r.Base, BaseHash: r.BaseHash}
		f.resumes = true
	}
	return l
}

// laneAdopted moves the cursor. Receipts that are owed for records which the peer
// does not know any more are owed no longer: their numbers get another meaning.
func (st *state) laneAdopted(r *journal.LaneAdopted) *lane {
	l := st.lane(wire.HubID(r.Peer))
	l.facts.lane.adopts = false
	l.in, l.refused = Cursor{}, nil
	if r.Seq > 0 {
		l.in = Cursor{EpochID: r.EpochID, Seq: r.Seq, Hash: r.Hash}
	}
	for _, p := range l.pending.all() {
		if p.about > r.Seq {
			l.pending.remove(p.chatSeq)
		}
	}
	return l
}

func (st *state) laneResumed(r *journal.LaneResumed) *lane {
	l := st.lane(wire.HubID(r.Peer))
	l.facts.lane.resumes, l.facts.lane.deaf = false, r.Until
	return l
}

// stamp gives records the epoch in which our lane is counted now.
func (h *Hub) stamp(peer wire.HubID, recs []OutRecord) {
	e := h.LaneEpoch(peer)
	for i := range recs {
		recs[i].Origin.Epoch, recs[i].Origin.EpochID = e.Number, e.ID
	}
}
