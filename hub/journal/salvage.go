package journal

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// withRange completes a refusal of the engine: what lies in table files is looked at without the logs, read only,
// so that the refusal can say from which event on things are missing or in doubt.
func (s *Store) withRange(err error) error {
	var e *Error
	if !errors.As(err, &e) || !isCorrupt(err) || e.Range != (Range{}) {
		return err
	}
	e.Range = Range{s.salvage() + 1, s.slot.seq}
	if e.Range.To < e.Range.From {
		e.Range.To = seqEnd
	}
	return e
}

// salvage is the last event that is certain without the logs, 0 when nothing is.
func (s *Store) salvage() (seq uint64) {
	defer func() {
		if recover() != nil {
			seq = 0 // the engine does not get along with what is left either
		}
	}()
	o := s.opts
	o.ReadOnly, o.Listener = true, func(StoreEvent) {}
	probe := newStore(s.dir, o)
	probe.hub = s.hub
	db, err := pebble.Open(s.path(storeDir), pebbleOptions(o, withoutLogs{probe.fs}, probe.guard))
	if err != nil {
		return 0
	}
	probe.db = db
	last, err := probe.lastMark()
	if errors.Join(err, db.Close()) != nil {
		return 0
	}
	return last.seq
}

// withoutLogs is a file system whose folders hold no write-ahead logs.
type withoutLogs struct{ vfs.FS }

func (f withoutLogs) Unwrap() vfs.FS { return f.FS }

func (f withoutLogs) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	kept := names[:0]
	for _, name := range names {
		if !isLog(name) {
			kept = append(kept, name)
		}
	}
	return kept, err
}
