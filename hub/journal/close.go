package journal

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Close waits for the calls inside, makes everything applied durable and releases the folder. Callers of Wait must
// have returned before. After a failure it writes nothing more; if Pebble is stuck in that failure, its goroutines
// and its lock stay until the process ends, which is what a stopped store is for. It may be called twice.
func (s *Store) Close() error {
	if !s.users.close() {
		return nil
	}
	var errs []error
	if s.head != nil {
		s.head.halt()
	}
	if s.guard.failure() == nil && !s.opts.ReadOnly {
		if err := s.opts.Hook(PointClose); err != nil {
			s.guard.fail(failed(err))
		}
	}
	close(s.guard.closing)
	errs = append(errs, s.closeEngine())
	if s.head != nil {
		errs = append(errs, s.head.sync(), s.head.f.Close())
	}
	if !s.stuck {
		errs = append(errs, s.lock.Close())
	}
	if err := s.guard.failure(); err != nil {
		return err
	}
	return classify("close journal", errors.Join(errs...))
}

// closeEngine closes Pebble unless it is stuck.
func (s *Store) closeEngine() (err error) {
	if s.stuck {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			s.leaveEngine()
			err = fmt.Errorf("storage engine: %v", r)
		}
	}()
	return s.db.Close()
}

// leaveEngine gives Pebble up where it cannot be closed any more; what it still does in the background ends.
func (s *Store) leaveEngine() {
	s.stuck = true
	s.guard.left.Store(true)
}

// abandon releases what a failed Open had taken, changing nothing more.
func (s *Store) abandon() {
	s.guard.quiet.Store(true)
	s.guard.readOnly.Store(true)
	close(s.guard.closing)
	if s.head != nil {
		_ = s.head.f.Close() // nothing was written through it that counts
	}
	if s.db != nil {
		_ = s.closeEngine() // the error that ended Open is the one to report
	}
	if s.lock != nil && !s.stuck {
		_ = s.lock.Close()
	}
}

// Metrics is what a store has cost so far.
type Metrics struct {
	Seq          uint64 `json:"seq"`           // applied head
	Syncs        uint64 `json:"syncs"`         // file syncs asked of the disk, all files
	BytesWritten uint64 `json:"bytes_written"` // log, flushes, compactions, HEAD, since Open
	DiskBytes    uint64 `json:"disk_bytes"`    // size of the store now
	Compactions  int64  `json:"compactions"`
	Flushes      int64  `json:"flushes"`
	MemoryBytes  uint64 `json:"memory_bytes"` // memtables and block cache
	L0Files      int64  `json:"l0_files"`
}

// Metrics reads the store's figures; the zero Metrics after Close.
func (s *Store) Metrics() Metrics {
	if !s.users.enter() {
		return Metrics{}
	}
	defer s.users.leave()
	var m *pebble.Metrics = s.db.Metrics()
	seq, _ := s.Head()
	return Metrics{
		Seq:          seq,
		Syncs:        s.guard.syncs.Load(),
		BytesWritten: s.guard.written.Load(),
		DiskBytes:    m.DiskSpaceUsage(),
		Compactions:  m.Compact.Count,
		Flushes:      m.Flush.Count,
		MemoryBytes:  m.MemTable.Size + uint64(m.BlockCache.Size),
		L0Files:      m.Levels[0].TablesCount,
	}
}
