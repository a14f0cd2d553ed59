package hub

import (
	"context"

	"google.golang.org/protobuf/encoding/protowire"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// laneMarks is what is known of how far our lane to a peer came beside what the
// peer acknowledged.
//
//	1 … acked … mark … aged … head
//	    └ settled └ may have left: only the peer ends it
//	                   └ never left and too old: withdrawn, receipts excepted
//	                            └ never left
type laneMarks struct {
	sent uint64 // no record above it has left on a link that is closed
	up   bool   // a link is open: whatever there is may leave
	aged uint64 // last record withdrawn
	// freed is the bytes of bodies that were withdrawn and lie above acked, freedFrom
	// the bytes of all bodies before the first of them.
	freed, freedFrom uint64
}

// mark is the last record that may have left this hub.
func (l *lane) mark() uint64 {
	if l.marks.up {
		return l.outHead
	}
	return max(l.marks.sent, l.acked)
}

// LinkInfo says what a link runs over.
type LinkInfo struct {
	Address string // of the other end
	Dialled bool   // by this side
}

// LinkOpened notes that records may leave for a peer from now on, and returns after
// the sync: nothing may be sent on a new link before. Until LinkClosed all that is
// accepted counts as sent.
func (h *Hub) LinkOpened(ctx context.Context, peer wire.HubID, info LinkInfo) error {
	return h.ofPeer(ctx, peer, func(v *view, d *draft) error {
		d.add(v.now, journal.LinkOpened{
			Peer: string(peer), Head: v.st.laneOf(peer).outHead, Address: info.Address, Dialled: info.Dialled,
		})
		return nil
	})
}

// LinkClosed notes that a link has ended and that no record above sent has left on
// it. It waits only while the peer's queue into the core is full. A link that was
// not opened closes nothing. If the note is lost with a crash, all that was accepted
// by then counts as sent.
func (h *Hub) LinkClosed(peer wire.HubID, sent uint64, reason wire.Reason) {
	closed := func(v *view, d *draft) error {
		if l := v.st.laneOf(peer); l.marks.up {
			d.add(v.now, journal.LinkClosed{Peer: string(peer), Sent: min(sent, l.outHead), Reason: string(reason)})
		}
		return nil
	}
	c := &operatorCommand{run: closed, reply: make(chan error, 1)}
	_ = h.in.push(context.Background(), h.laneSource(peer), c) // fails only once the core has stopped
}

// linkOpened folds a link's beginning. One that was not closed before counts as
// having sent everything.
func (st *state) linkOpened(r *journal.LinkOpened) *lane {
	l := st.lane(wire.HubID(r.Peer))
	l.marks.sent, l.marks.up = l.mark(), true
	return l
}

func (st *state) linkClosed(r *journal.LinkClosed) *lane {
	l := st.lane(wire.HubID(r.Peer))
	l.marks.sent, l.marks.up = max(l.marks.sent, r.Sent), false
	return l
}

// cutLinks is what a start knows of links that a crash has ended.
func (st *state) cutLinks() (out []journal.LinkClosed) {
	for _, id := range sortedKeys(st.lanes) {
		if l := st.lanes[id]; l.marks.up {
			out = append(out, journal.LinkClosed{Peer: string(id), Sent: l.outHead, Reason: string(wire.ReasonLinkLost)})
		}
	}
	return out
}

// closeCut journals the end of links that a crash has ended and waits for the sync:
// what is accepted from here on has not left.
func closeCut(store *journal.Store, st *state, nowUS int64) error {
	cut := st.cutLinks()
	if len(cut) == 0 {
		return nil
	}
	batch := journal.NewBatch()
	for _, rec := range cut {
		ev := journal.NewEvent(st.head+1, nowUS, rec)
		st.apply(&ev, rec, batch)
		batch.Append(ev)
	}
	sync, err := store.Apply(batch)
	if err != nil {
		return err
	}
	return sync.Wait()
}

// encode writes the marks: 1 sent 2 up 3 aged 4 freed 5 freed from.
func (k laneMarks) encode(m *fields) {
	m.num(1, k.sent)
	m.flag(2, k.up)
	m.num(3, k.aged)
	m.num(4, k.freed)
	m.num(5, k.freedFrom)
}

func (k *laneMarks) decode(b []byte) error {
	return eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			k.sent = v.num
		case 2:
			k.up = v.num == 1
		case 3:
			k.aged = v.num
		case 4:
			k.freed = v.num
		case 5:
			k.freedFrom = v.num
		}
		return nil
	})
}
