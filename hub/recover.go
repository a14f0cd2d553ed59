package hub

import (
	"fmt"
	"io"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// recoverState rebuilds the hot state: the latest snapshot, then every event
// after it through the same apply that runs live. Table rows are already in
// Pebble. What an event claims is checked before it is applied, unless a planted
// fault has written what no check would let pass.
func recoverState(store *journal.Store, id wire.HubID, f *fault) (*state, error) {
	st, err := fromSnapshot(store, id)
	if err != nil {
		return nil, err
	}
	err = store.Replay(st.head, func(ev journal.Event) error {
		rec, err := ev.Record()
		if err != nil {
			return err
		}
		typed, ok := rec.(journal.Record)
		if !ok {
			return fmt.Errorf("hub: event %d: %s is not a record", ev.Seq, ev.Kind)
		}
		if err := st.check(&ev, typed); err != nil && !f.unchecked() {
			return &Error{Reason: wire.ReasonJournalCorrupt, Text: err.Error(), Next: "fleet journal verify"}
		}
		st.apply(&ev, typed, noTables{})
		return nil
	})
	return st, err
}

// fromSnapshot starts at the latest readable snapshot, else at the beginning.
func fromSnapshot(store *journal.Store, id wire.HubID) (*state, error) {
	upTo, b, ok, err := store.LatestSnapshot()
	if err != nil || !ok {
		return newState(id), err
	}
	st, err := decodeState(id, b)
	if err != nil || st.head != upTo {
		return newState(id), nil // an unreadable snapshot costs time, not truth
	}
	st.snapshot = upTo
	return st, nil
}

// check refuses an event that contradicts what came before it: another owner, a
// lane with a gap or turned back, a reused message id.
func (st *state) check(ev *journal.Event, rec journal.Record) error {
	switch r := rec.(type) {
	case journal.EpochStarted:
		if r.HubID != string(st.hubID) {
			return fmt.Errorf("event %d belongs to hub %q", ev.Seq, r.HubID)
		}
	case journal.ChatAccepted:
		return st.checkChat(ev, &r)
	case journal.VerdictsSaid:
		return st.checkLaneOut(ev, r.Dest, r.LaneSeq)
	case journal.InboundRefused:
		return st.checkLaneIn(ev, &r.Origin)
	case journal.RecordWithdrawn:
		return st.checkWithdrawn(ev, &r)
	case journal.VerdictsHeard:
		return st.checkLaneIn(ev, &r.Origin)
	case journal.LaneAcked:
		if l := st.lane(wire.HubID(r.Peer)); r.LaneSeq <= l.acked || r.LaneSeq > l.outHead {
			return fmt.Errorf("event %d acknowledges record %d of a lane at %d to %d", ev.Seq, r.LaneSeq, l.acked, l.outHead)
		}
	}
	return st.checkTrust(ev, rec)
}

func (st *state) checkChat(ev *journal.Event, r *journal.ChatAccepted) error {
	if r.MsgID <= st.lastMsg {
		return fmt.Errorf("event %d reuses message id %d", ev.Seq, r.MsgID)
	}
	if r.Dest != "" {
		return st.checkLaneOut(ev, r.Dest, r.LaneSeq)
	}
	if r.Origin != nil {
		return st.checkLaneIn(ev, r.Origin)
	}
	return nil
}

func (st *state) checkLaneOut(ev *journal.Event, dest string, laneSeq uint64) error {
	if laneSeq != st.lane(wire.HubID(dest)).outHead+1 {
		return fmt.Errorf("event %d leaves a gap in the lane to %s", ev.Seq, dest)
	}
	return nil
}

func (st *state) checkLaneIn(ev *journal.Event, o *journal.Origin) error {
	if in := st.lane(wire.HubID(o.Hub)).in; o.LaneSeq != in.Seq+1 {
		return fmt.Errorf("event %d does not follow record %d of %s", ev.Seq, in.Seq, o.Hub)
	}
	return nil
}

// startEpoch journals the first event of a new journal and waits for its sync.
func startEpoch(store *journal.Store, st *state, nowUS int64, random io.Reader) error {
	if st.epoch.Number > 0 {
		return nil
	}
	rec := journal.EpochStarted{HubID: string(st.hubID), Number: 1}
	if _, err := io.ReadFull(random, rec.ID[:]); err != nil {
		return fmt.Errorf("hub: random epoch id: %w", err)
	}
	ev := journal.NewEvent(st.head+1, nowUS, rec)
	batch := journal.NewBatch()
	st.apply(&ev, rec, batch)
	batch.Append(ev)
	sync, err := store.Apply(batch)
	if err != nil {
		return err
	}
	return sync.Wait()
}
