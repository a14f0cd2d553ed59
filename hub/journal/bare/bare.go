// Package bare is Pebble with synced batches and nothing else: no chain, no records, no checks, no head slot. It is the
// disk of the bare pipeline that the product is measured beside, and lives here because this folder is the only one that
// imports Pebble. Nothing of the product uses it.
package bare

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Record is one value under one sequence number.
type Record struct {
	Seq   uint64
	Value []byte // not kept after Commit
}

// Log is one store. Commit has one caller.
type Log struct{ db *pebble.DB }

// Open opens or creates the store in a folder.
func Open(dir string) (*Log, error) {
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	if err != nil {
		return nil, fmt.Errorf("bare log: %w", err)
	}
	return &Log{db: db}, nil
}

// Commit writes the records as one batch and returns when it is synced.
func (l *Log) Commit(records []Record) error {
	b := l.db.NewBatch()
	defer b.Close()
	for _, r := range records {
		var key [9]byte
		key[0] = 'e'
		binary.BigEndian.PutUint64(key[1:], r.Seq)
		if err := b.Set(key[:], r.Value, nil); err != nil {
			return fmt.Errorf("bare log: %w", err)
		}
	}
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("bare log: %w", err)
	}
	return nil
}

// Last is the highest sequence number stored, 0 in an empty store.
func (l *Log) Last() (uint64, error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: []byte{'e'}, UpperBound: []byte{'f'}})
	if err != nil {
		return 0, fmt.Errorf("bare log: %w", err)
	}
	defer it.Close()
	if !it.Last() {
		return 0, it.Error()
	}
	return binary.BigEndian.Uint64(it.Key()[1:]), nil
}

// Close closes the store.
func (l *Log) Close() error { return l.db.Close() }

// quiet drops Pebble's own lines. A fatal one still ends the process: this is a yardstick, not a node.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
