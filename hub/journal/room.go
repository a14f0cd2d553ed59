package journal

import (
	"errors"
	"sync/atomic"
)

// room is a count, cheap to ask before every batch, that tells when Pebble may be short of memory for more; only then
// is Pebble asked for the bytes. It counts memtables, each for a whole one, since of the bytes of a batch Pebble needs
// three or four times as many when its rows are tiny:
//
//   - what a running flush has taken up,
//   - what was filled since it began, or since the last one did when none runs. What a batch that is being applied
//     when the flush begins fills after that is missed until the next flush; it costs its memory and nothing else.
//
// It is too high after Open, when Pebble begins with small memtables and flushes none before half a whole one has come
// together. So nobody may wait for a flush on this count alone.
//
// Apply's caller asks and takes; the rest is called by Pebble's event listener, a flush at a time.
type room struct {
	memTable int64         // bytes
	flushing atomic.Int64  // memtables
	filled   atomic.Int64  // memtables
	ended    chan struct{} // holds a token when a flush has ended since the last one was taken

	flushError atomic.Pointer[error] // of the flush that ended last, nil none
}

func newRoom(memTableBytes int64) room {
	return room{memTable: memTableBytes, ended: make(chan struct{}, 1)}
}

// short is true when there may be maxMemTables, with the one that is being filled.
func (r *room) short() bool { return r.flushing.Load()+r.filled.Load() >= maxMemTables-1 }

// take counts a batch that Pebble may keep beside its memtables, as it does with those larger than half of one.
func (r *room) take(bytes int) {
	if int64(bytes) >= r.memTable/2 {
		r.filled.Add(r.count(int64(bytes)))
	}
}

// count rounds up to whole memtables.
func (r *room) count(bytes int64) int64 { return (bytes + r.memTable - 1) / r.memTable }

// rotated counts a memtable that is full: every one has its write-ahead log.
func (r *room) rotated() { r.filled.Add(1) }

func (r *room) flushBegan(tables int, bytes uint64) {
	r.flushing.Store(max(int64(tables), r.count(int64(bytes))))
	r.filled.Store(0)
}

func (r *room) flushEnded(err error) {
	r.flushError.Store(nil)
	if err != nil {
		r.flushError.Store(&err)
	}
	r.flushing.Store(0)
	select {
	case r.ended <- struct{}{}:
	default:
	}
}

// flushFailed is true of the background error that the last flush ended with. Pebble also ends a flush that had nothing
// to write with an error, but does not tell that one as a background error.
func (r *room) flushFailed(err error) bool {
	ended := r.flushError.Load()
	return ended != nil && errors.Is(err, *ended)
}
