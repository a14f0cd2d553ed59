package journal

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// checkStray looks for rows behind the end: what a store that lost its middle would leave.
func (v *verifier) checkStray() error {
	for _, table := range []byte{tableEvent, tableBody, tableChain, tablePurged} {
		first, last := uint64(0), uint64(0)
		lo, hi := seqRange(table, v.end+1, math.MaxUint64)
		err := v.s.scan(lo, hi, func(key, _ []byte) (bool, error) {
			last = SeqOfKey(key)
			if first == 0 {
				first = last
			}
			return true, nil
		})
		if err != nil && !v.report.addError(err) {
			return err
		}
		if first != 0 {
			v.report.corrupt(Range{first, last}, tableName(table)+" behind the end of the chain")
		}
	}
	return nil
}

// checkPurged holds every purge mark against its tombstone and its event.
func (v *verifier) checkPurged() error {
	return v.rows(tablePurged, 1, v.end, func(seq uint64, value []byte) {
		at, ok := ParseSeqValue(value)
		if !ok || !v.purgedBy(seq, at) {
			v.report.corrupt(Range{seq, seq}, "a purge mark without its tombstone")
			return
		}
		v.report.Purged++
	})
}

func (v *verifier) purgedBy(seq, at uint64) bool {
	stone, ok, err := v.s.event(at)
	if err != nil || !ok || stone.Kind != KindBodyPurged {
		return false
	}
	rec, err := ParseBodyPurged(stone.Attrs)
	if err != nil || rec.Seq != seq {
		return false
	}
	ev, ok, err := v.s.event(seq)
	return err == nil && ok && ev.Digest == rec.Digest
}

// checkSnapshot holds the pointer against the newest snapshot; its body was checked with the others.
func (v *verifier) checkSnapshot() error {
	seq, err := v.s.snapshotSeq()
	if err != nil {
		return err
	}
	if seq != v.snapshot {
		v.report.corrupt(Range{seq, seq}, fmt.Sprintf("the snapshot pointer says %d, the newest snapshot is %d", seq, v.snapshot))
	}
	return nil
}

// checkRows reads every table row and refuses those that name an event which is not there.
func (v *verifier) checkRows() error {
	for table := range 256 {
		if ownTable(byte(table)) {
			continue
		}
		lo, hi := []byte{byte(table)}, []byte{byte(table + 1)}
		if table == 255 {
			hi = nil
		}
		err := v.s.scan(lo, hi, func(key, value []byte) (bool, error) {
			v.report.Rows++
			v.row(key, value)
			return true, nil
		})
		if err != nil && !v.report.addError(err) {
			return err
		}
	}
	return nil
}

func (v *verifier) row(key, value []byte) {
	seq, ok := uint64(0), true
	switch key[0] {
	case TableMailbox, TableNote:
		seq, ok = SeqOfKey(key), NameOfKey(key) != ""
	case TableLane: // the caller may put more behind the seq
		seq, ok = ParseSeqValue(value[:min(len(value), 8)])
		ok = ok && NameOfKey(key) != ""
	case TableWatermark:
		_, ok = ParseSeqValue(value)
		seq = 1
	default:
		return
	}
	if !ok || seq == 0 || seq > v.end {
		v.report.corrupt(Range{seq, seq}, tableName(key[0])+" row that names no event")
	}
}

// checkFiles reads every block of every live table file, those too that no row needs (filters, obsolete versions).
func (v *verifier) checkFiles() error {
	levels, err := v.s.db.SSTables()
	if err != nil {
		return classify("list table files", err)
	}
	seen := map[string]bool{}
	for _, level := range levels {
		for i := range level {
			name := fmt.Sprintf("%06d.sst", uint64(level[i].BackingSSTNum))
			if seen[name] {
				continue
			}
			seen[name] = true
			if err := v.file(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verifier) file(name string) error {
	v.report.Files++
	err := v.checksums(v.s.path(storeDir, name))
	if err == nil {
		return nil
	}
	err = classify("table file "+name, err)
	if v.report.addError(err) {
		return nil
	}
	return err
}

func (v *verifier) checksums(path string) (err error) {
	f, err := v.s.fs.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	defer func() {
		if r := recover(); r != nil {
			err = corrupt(Range{}, fmt.Errorf("table file: %v", r))
		}
	}()
	reader, err := sstable.NewReader(context.Background(), readable, v.s.engine.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(reader.ValidateBlockChecksums(), reader.Close())
}
