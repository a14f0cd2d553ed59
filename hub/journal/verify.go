package journal

import (
	"encoding/hex"
	"errors"
	"fmt"

	"fleetrelay/hub/wire"
)

// Verify reads the whole journal in dir without changing it and reports every damaged, missing or contradictory
// range it finds: chain, sequence, bodies, tombstones, snapshots, lanes, table rows, head slot, and every block of
// every table file. progress (nil = none) is called now and then with events done and in total. The error is for
// what could not be verified at all: no journal, another hub's, a newer format, in use, an unreadable disk.
func Verify(dir string, o Options, progress func(done, total uint64)) (Report, error) {
	o.ReadOnly = true
	if progress == nil {
		progress = func(uint64, uint64) {}
	}
	v := verifier{progress: progress}
	s, err := openToVerify(dir, o.withDefaults(), &v.report)
	if err != nil || s == nil {
		return v.report, classify("verify journal", err)
	}
	v.s = s
	err = v.run()
	return v.report, classify("verify journal", errors.Join(err, s.Close()))
}

// openToVerify opens what Open would refuse, noting why. A nil store means that nothing more can be read.
func openToVerify(dir string, o Options, r *Report) (s *Store, err error) {
	s = newStore(dir, o)
	defer func() {
		if err != nil || s == nil {
			return
		}
		r.Hub, r.Format = s.hub, formatCurrent
	}()
	steps := []func() error{
		s.takeLock,
		func() error { _, err := s.checkFormat(); return err },
		func() error { return s.readSlot(r) },
		func() error { s.db, err = s.openPebble(storeDir); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			s.abandon()
			if r.addError(err) {
				return nil, nil
			}
			return nil, err
		}
	}
	return s, nil
}

// readSlot reads HEAD as far as it can be; a damaged one is a problem and no reason to stop.
func (s *Store) readSlot(r *Report) error {
	newest, _, torn, err := readHead(s.fs, s.path(headName))
	r.TornSlots = torn
	switch {
	case isNotExist(err):
		r.corrupt(Range{}, "HEAD is missing")
	case errors.Is(err, errHeadDamaged):
		r.corrupt(Range{}, err.Error())
	case err != nil:
		return err
	}
	r.Slot = newest.seq
	if !s.opts.testing.noHeadCheck {
		s.slot = newest
	}
	return nil
}

// verifier walks one open store.
type verifier struct {
	s        *Store
	report   Report
	progress func(done, total uint64)
	end      uint64 // last event expected: of the chain marks or of HEAD

	chain    position // end of what was chained so far
	chained  bool     // chain.chain is known; after damage it is not, until the next mark
	lanes    map[laneID]uint64
	snapshot uint64 // newest SnapshotTaken seen
}

// laneID is one direction of one lane in one epoch of its origin.
type laneID struct {
	hub   string
	epoch [16]byte
	out   bool
}

func (v *verifier) run() error {
	last, err := v.s.lastMark()
	if err != nil && !v.report.addError(err) {
		return err
	}
	v.s.applied, v.s.synced = last, last
	v.end = max(last.seq, v.s.slot.seq)
	if err == nil && v.s.slot.seq > 0 {
		if err := v.s.checkSlot(last); err != nil && !v.report.addError(err) {
			return err
		}
	}
	v.chain, v.chained, v.lanes = position{chain: genesis(v.s.hub)}, true, map[laneID]uint64{}
	for _, step := range []func() error{v.walkEvents, v.checkStray, v.checkPurged, v.checkSnapshot, v.checkRows, v.checkFiles} {
		if err := step(); err != nil && !v.report.addError(err) {
			return err
		}
	}
	v.report.Head, v.report.HeadChain = v.chain.seq, hex.EncodeToString(v.chain.chain[:])
	return nil
}

// rows visits the rows [from, to] of a table of seq8 keys. Where Pebble cannot read on, it asks for every row by
// itself and goes on behind the damage, which it notes.
func (v *verifier) rows(table byte, from, to uint64, visit func(seq uint64, value []byte)) error {
	next := from
	take := func(key, value []byte) (bool, error) {
		visit(SeqOfKey(key), value)
		next = SeqOfKey(key) + 1
		return true, nil
	}
	for next <= to && next != 0 {
		lo, hi := seqRange(table, next, to)
		err := v.s.scan(lo, hi, take)
		if err == nil {
			return nil
		}
		if !isCorrupt(err) {
			return err
		}
		if err := v.stepOver(table, &next, to, visit); err != nil {
			return err
		}
	}
	return nil
}

// stepOver moves next behind the rows that cannot be read, visiting the first that can.
func (v *verifier) stepOver(table byte, next *uint64, to uint64, visit func(seq uint64, value []byte)) error {
	for *next <= to {
		seq := *next
		value, ok, err := v.s.get(seqKey(table, seq))
		if err != nil && !isCorrupt(err) {
			return err
		}
		*next++
		if err != nil {
			v.report.corrupt(Range{seq, seq}, fmt.Sprintf("%s cannot be read", tableName(table)))
		} else if ok {
			visit(seq, value)
			return nil
		}
	}
	return nil
}

func isCorrupt(err error) bool { return ReasonOf(err) == wire.ReasonJournalCorrupt }

func tableName(table byte) string {
	switch table {
	case tableEvent:
		return "event"
	case tableBody:
		return "body"
	case tableChain:
		return "chain mark"
	case tablePurged:
		return "purge mark"
	}
	return "table " + string(rune(table))
}
