package hub

import (
	"fmt"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// agedAtOnce bounds the rows that one look at the clock reads.
const agedAtOnce = 256

// agedChat is a chat that waited too long and never left, with all that its end
// needs, so that the core reads nothing for it.
type agedChat struct {
	peer       wire.HubID
	laneSeq    uint64
	row        outboxRow
	bytes      uint64 // of its body
	acceptedUS int64
	chat       journal.ChatAccepted
}

// ager looks for such chats beside the core. It belongs to the clock's goroutine.
type ager struct {
	hub *Hub
	// past is, by peer, up to where its lane holds nothing but receipts, which have
	// no age: their chats' senders wait for them. It only saves reading.
	past map[wire.HubID]uint64
	rows int // may still be read in this look
}

// look lists chats that are to be withdrawn, in the order of their lanes; more says
// that it had to stop early.
func (a *ager) look(nowUS int64) (list []agedChat, more bool) {
	a.rows = agedAtOnce
	for _, w := range a.hub.published.aging() {
		list = a.lane(list, w, nowUS)
	}
	return list, a.rows == 0
}

// agingLane is a lane that holds records above its mark.
type agingLane struct {
	peer        wire.HubID
	after, head uint64
}

func (a *ager) lane(list []agedChat, w agingLane, nowUS int64) []agedChat {
	after := max(w.after, a.past[w.peer])
	if a.rows == 0 || after >= w.head {
		return list
	}
	none, limit := true, a.hub.opts.Limits.PeerAge.Microseconds()
	lo, hi := journal.LaneRange(string(w.peer), after+1, w.head)
	err := a.hub.opts.Store.Scan(lo, hi, func(key, value []byte) (bool, error) {
		a.rows--
		row, ev, rec, err := laneEvent(a.hub.opts.Store, value)
		if err != nil {
			return false, err
		}
		chat, isChat := rec.(journal.ChatAccepted)
		switch {
		case isChat && ev.TimeUS+limit > nowUS:
			return false, nil
		case isChat && row.kind == wire.LaneChat:
			none = false
			list = append(list, agedChat{
				peer: w.peer, laneSeq: journal.SeqOfKey(key), row: row, bytes: uint64(ev.BodyLen), acceptedUS: ev.TimeUS, chat: chat,
			})
		case none:
			a.past[w.peer] = journal.SeqOfKey(key)
		}
		return a.rows > 0, nil
	})
	if err != nil { // the store has reported itself, or a link will find the row
		a.hub.refusals.note(wire.ReasonJournalCorrupt, "a lane cannot be read: "+err.Error(), string(w.peer))
	}
	return list
}

// withdrawCommand ends chats that waited too long.
type withdrawCommand struct {
	small
	list []agedChat
	done func() // after the sync; nil when nothing follows
}

func (c *withdrawCommand) decide(v *view, d *draft) {
	for i := range c.list {
		if v.mayWithdraw(&c.list[i]) {
			v.withdraw(d, &c.list[i])
		}
	}
	if c.done != nil {
		d.then(c.done)
	}
}

// mayWithdraw judges anew: a link may have been opened since.
func (v *view) mayWithdraw(a *agedChat) bool {
	l := v.st.laneOf(a.peer)
	return a.laneSeq > l.mark() && a.laneSeq > l.marks.aged && a.laneSeq <= l.outHead &&
		a.acceptedUS+v.config.limits.PeerAge.Microseconds() <= v.now
}

// withdraw ends one chat and tells its sender: the error, and the end of its receipt.
func (v *view) withdraw(d *draft, a *agedChat) {
	rec := journal.RecordWithdrawn{
		Peer: string(a.peer), LaneSeq: a.laneSeq, ChatSeq: a.row.seq, MsgID: a.chat.MsgID, Sender: a.chat.Sender,
		Target: a.chat.Target, ClientMsgID: a.chat.ClientMsgID, ClientTimestamp: a.chat.ClientTimestamp,
		Reason: string(wire.ReasonRelayExpired), LaneHash: a.row.hash, Bytes: a.bytes, Through: a.row.bytes,
	}
	d.refused(v, wire.ReasonRelayExpired, "chat withdrawn: it never left", a.chat.Sender+" to "+a.chat.Target)
	seq := d.add(v.now, rec)
	to := v.ro.byName(a.chat.Sender)
	d.tellSender(v, a.chat.Sender, to, noteItem(to, seq, withdrawnFrame(v.config.self, v.now, rec)))
	v.endRemote(d, a.peer, a.laneSeq, wire.ReasonRelayExpired)
}

// withdrawnFrame is the private error for a chat that was ended before it left.
func withdrawnFrame(self wire.HubID, timeUS int64, r journal.RecordWithdrawn) *wire.ErrorFrame {
	return &wire.ErrorFrame{
		HubID: self, TimeUS: timeUS, Target: r.Sender, Code: wire.Reason(r.Reason),
		Text:        "This message waited too long for the hub " + r.Peer + ". It never left and is not sent any more.",
		ClientMsgID: r.ClientMsgID, ClientTimestamp: r.ClientTimestamp,
	}
}

// recordWithdrawn folds the end of a chat that never left: its row says so, and its
// body does not wait any more. Of a peer's record it moves the cursor.
func (st *state) recordWithdrawn(ev *journal.Event, r *journal.RecordWithdrawn, w tables) *lane {
	if r.Origin != nil {
		return st.laneIn(r.Origin, r.LaneHash)
	}
	l := st.lane(wire.HubID(r.Peer))
	if l.marks.freed == 0 {
		l.marks.freedFrom = r.Through - min(r.Bytes, r.Through)
	}
	l.marks.aged = r.LaneSeq
	l.marks.freed += r.Bytes
	row := outboxRow{seq: r.ChatSeq, hash: r.LaneHash, bytes: r.Through, kind: wire.LaneWithdrawn}
	w.Put(journal.LaneKey(r.Peer, r.LaneSeq), row.append(nil))
	w.Put(journal.NoteKey(r.Sender, ev.Seq), nil)
	st.waits.remove(l.peer, r.LaneSeq)
	return l
}

// checkWithdrawn refuses the end of what may have left, or is no record.
func (st *state) checkWithdrawn(ev *journal.Event, r *journal.RecordWithdrawn) error {
	if r.Origin != nil {
		return st.checkLaneIn(ev, r.Origin)
	}
	l := st.laneOf(wire.HubID(r.Peer))
	if r.LaneSeq <= max(l.mark(), l.marks.aged) || r.LaneSeq > l.outHead {
		return fmt.Errorf("event %d withdraws record %d of a lane of which %d may have left, of %d", ev.Seq, r.LaneSeq, l.mark(), l.outHead)
	}
	return nil
}

// passOver takes a peer's record that the peer has withdrawn: its number is settled
// and nothing else happens.
func (c *inboundCommand) passOver(v *view, d *draft) {
	origin := originOf(&c.rec.Origin, c.batch.peer)
	d.add(v.now, journal.RecordWithdrawn{
		Reason: string(wire.ReasonRelayExpired), LaneHash: c.rec.LaneHash, Origin: &origin,
	})
}
