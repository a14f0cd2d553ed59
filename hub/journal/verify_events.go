package journal

import (
	"crypto/sha256"
	"fmt"
)

// verifyWindow is how many events are held against their bodies at a time.
const verifyWindow = 4096

// walkEvents checks events, chain, bodies and lanes, window by window.
func (v *verifier) walkEvents() error {
	for from := uint64(1); from <= v.end; from += verifyWindow {
		to := min(from+verifyWindow-1, v.end)
		marks := map[uint64][]byte{}
		err := v.rows(tableChain, from, to, func(seq uint64, value []byte) { marks[seq] = append([]byte{}, value...) })
		if err != nil {
			return err
		}
		bodies := map[uint64]*Event{} // events of the window with a body not seen yet
		err = v.rows(tableEvent, from, to, func(seq uint64, header []byte) { v.event(seq, header, marks, bodies) })
		if err != nil {
			return err
		}
		if v.chain.seq < to {
			v.gap(to + 1)
		}
		for seq := range marks {
			v.report.corrupt(Range{seq, seq}, "a chain mark without its event")
		}
		if err := v.bodies(from, to, bodies); err != nil {
			return err
		}
		v.progress(to, v.end)
	}
	return nil
}

// gap notes that the events before seq are not there.
func (v *verifier) gap(seq uint64) {
	v.report.corrupt(Range{v.chain.seq + 1, seq - 1}, "events are missing")
	v.chain.seq, v.chained = seq-1, false
}

// event checks one event and moves the chain over it.
func (v *verifier) event(seq uint64, header []byte, marks map[uint64][]byte, bodies map[uint64]*Event) {
	if seq != v.chain.seq+1 {
		v.gap(seq)
	}
	v.chain.seq = seq
	v.chain.chain = sha256.Sum256(append(v.chain.chain[:], header...))
	v.mark(seq, marks)
	ev, err := ParseHeader(header)
	if err != nil || ev.Seq != seq {
		v.report.corrupt(Range{seq, seq}, errHeader.Error())
		return
	}
	v.report.Events++
	if _, err := v.s.readable(&ev); err != nil {
		if !v.report.addError(err) {
			v.report.add(ReasonOf(err), Range{seq, seq}, err.Error())
		}
		return
	}
	ev.Attrs = append([]byte{}, ev.Attrs...)
	if ev.HasBody {
		bodies[seq] = &ev
	}
	v.record(&ev)
}

// mark holds the chain against the mark at seq, if there is one. After damage the next mark is where it goes on.
func (v *verifier) mark(seq uint64, marks map[uint64][]byte) {
	mark, ok := marks[seq]
	if !ok {
		if seq == v.end {
			v.report.corrupt(Range{seq, seq}, "the end of the chain has no mark")
		}
		return
	}
	delete(marks, seq)
	if len(mark) != sha256.Size {
		v.report.corrupt(Range{seq, seq}, "malformed chain mark")
		v.chained = false
		return
	}
	if v.chained && string(mark) != string(v.chain.chain[:]) {
		v.report.corrupt(Range{seq, seq}, "the chain is broken at or before this event")
	}
	copy(v.chain.chain[:], mark)
	v.chained = true
}

// record checks what one event says against the ones before.
func (v *verifier) record(ev *Event) {
	rec, err := ev.Record()
	if err != nil {
		return // noted by the caller, or ignorable
	}
	switch r := rec.(type) {
	case ChatAccepted:
		if r.Origin != nil {
			v.lane(ev.Seq, laneID{hub: r.Origin.Hub, epoch: r.Origin.EpochID}, r.Origin.LaneSeq)
		}
		if r.Dest != "" {
			v.lane(ev.Seq, laneID{hub: r.Dest, out: true}, r.LaneSeq)
		}
	case InboundRefused:
		v.lane(ev.Seq, laneID{hub: r.Origin.Hub, epoch: r.Origin.EpochID}, r.Origin.LaneSeq)
	case RecordWithdrawn:
		if r.Origin != nil {
			v.lane(ev.Seq, laneID{hub: r.Origin.Hub, epoch: r.Origin.EpochID}, r.Origin.LaneSeq)
		}
	case VerdictsHeard:
		v.lane(ev.Seq, laneID{hub: r.Origin.Hub, epoch: r.Origin.EpochID}, r.Origin.LaneSeq)
	case VerdictsSaid:
		v.lane(ev.Seq, laneID{hub: r.Dest, out: true}, r.LaneSeq)
	case SnapshotTaken:
		v.snapshot = ev.Seq
	case BodyPurged:
		v.tombstone(ev.Seq, r)
	}
}

// lane checks that a lane's records were taken once and in order.
func (v *verifier) lane(seq uint64, id laneID, laneSeq uint64) {
	if last := v.lanes[id]; laneSeq <= last {
		v.report.corrupt(Range{seq, seq}, fmt.Sprintf("record %d of the lane with %s was taken again after %d", laneSeq, id.hub, last))
		return
	}
	v.lanes[id] = laneSeq
}

// tombstone checks that a tombstone stands for a body that was there and is gone.
func (v *verifier) tombstone(seq uint64, r BodyPurged) {
	mark, ok, err := v.s.get(seqKey(tablePurged, r.Seq))
	if err != nil {
		return // noted by checkPurged
	}
	if at, _ := ParseSeqValue(mark); !ok || at != seq {
		v.report.corrupt(Range{seq, seq}, fmt.Sprintf("the tombstone of event %d has no mark", r.Seq))
	}
	if _, ok, err := v.s.get(seqKey(tableBody, r.Seq)); err == nil && ok {
		v.report.corrupt(Range{r.Seq, r.Seq}, "a purged body is still there")
	}
}

// bodies checks the bodies of one window and notes those that are not there without a reason.
func (v *verifier) bodies(from, to uint64, want map[uint64]*Event) error {
	err := v.rows(tableBody, from, to, func(seq uint64, body []byte) {
		ev := want[seq]
		delete(want, seq)
		switch {
		case ev == nil:
			v.report.corrupt(Range{seq, seq}, "a body without its event")
		case uint32(len(body)) != ev.BodyLen || sha256.Sum256(body) != ev.Digest:
			v.report.corrupt(Range{seq, seq}, "the body does not match its digest")
		}
		v.report.Bodies++
		v.report.BodyBytes += uint64(len(body))
	})
	if err != nil {
		return err
	}
	for seq := from; seq <= to && len(want) > 0; seq++ {
		ev := want[seq]
		if ev == nil {
			continue
		}
		delete(want, seq)
		if err := v.s.bodyGone(ev); err != nil && !v.report.addError(err) {
			return err
		} else if err == nil && ev.Kind == KindSnapshotTaken {
			v.report.Replaced++
		}
	}
	return nil
}
