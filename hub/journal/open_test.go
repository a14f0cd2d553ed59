package journal

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/crashfs"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// diskError fails the n-th call, or every one from there on, as an operating system does.
type diskError struct {
	n, seen atomic.Int64
	forEver bool
}

func (d *diskError) MaybeError(op errorfs.Op) error {
	seen, n := d.seen.Add(1), d.n.Load()
	if seen == n || (d.forEver && seen > n) {
		return &fs.PathError{Op: "call", Path: op.Path, Err: syscall.EIO}
	}
	return nil
}

func (*diskError) String() string { return "diskError" }

// eventLog collects what a listener hears.
type eventLog struct {
	mu     sync.Mutex
	events []StoreEvent
}

func (l *eventLog) listen(e StoreEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *eventLog) of(kind StoreEventKind) (found []StoreEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// TestOpenOnAFailingDisk fails call n of opening what a killed process left, for every n: no panic, no hang, and an
// error that is journal_failed and says what the disk said, the same that the listener heard.
func TestOpenOnAFailingDisk(t *testing.T) {
	v := newVictim(t, 7, false, smallOptions)
	for _, forEver := range []bool{false, true} {
		for n := int64(1); ; n++ {
			disk := &diskError{forEver: forEver}
			disk.n.Store(n)
			var heard eventLog
			o := smallOptions(errorfs.Wrap(crashfs.Killed(v.fs), disk))
			o.Listener = heard.listen
			s, err := Open("j", o)
			told := heard.of(EventFailed) // before Close, which may fail too
			if err == nil {
				_ = s.Close() // fails or not; the disk may
			}
			checkFailedOpen(t, n, err, told)
			if disk.seen.Load() < n {
				break
			}
		}
	}
}

func checkFailedOpen(t *testing.T, n int64, err error, told []StoreEvent) {
	t.Helper()
	if err == nil {
		return
	}
	// Pebble hands on what stops it in its manifest as text only.
	if ReasonOf(err) != wire.ReasonJournalFailed || (!errors.Is(err, syscall.EIO) && !strings.Contains(err.Error(), syscall.EIO.Error())) {
		t.Errorf("call %d: %v", n, err)
	}
	for _, e := range told {
		if !errors.Is(err, e.Err) {
			t.Errorf("call %d: the listener heard %v, Open says %v", n, e.Err, err)
		}
	}
}

// racingFS lets another starter of the folder run to its end just before the lock is taken.
type racingFS struct {
	vfs.FS
	race func()
}

func (f racingFS) Lock(name string) (io.Closer, error) {
	if strings.HasPrefix(name, "j/LOCK") {
		f.race()
	}
	return f.FS.Lock(name)
}

// TestOpenReadsUnderItsLock makes a journal between the look of a starter at an empty folder and its lock.
func TestOpenReadsUnderItsLock(t *testing.T) {
	for _, c := range []struct {
		hub    string
		reason wire.Reason
		head   uint64
	}{{testHub, "", 1}, {"other.example", wire.ReasonWrongHub, 0}} {
		mem := vfs.NewCrashableMem()
		o := smallOptions(racingFS{mem, func() {
			first := smallOptions(mem)
			first.HubID = c.hub
			s, err := Open("j", first)
			must(t, err)
			commit(t, s, chat("first"))
			must(t, s.Close())
		}})
		s, err := Open("j", o)
		if ReasonOf(err) != c.reason || (err == nil) != (c.reason == "") {
			t.Fatalf("hub %s: %v", c.hub, err)
		}
		if err != nil {
			continue
		}
		if seq, _ := s.Head(); seq != c.head {
			t.Errorf("head %d, want %d", seq, c.head)
		}
		must(t, s.Close())
	}
}

// A read-only Open leaves no trace in a folder without a journal.
func TestReadOnlyOpenMakesNothing(t *testing.T) {
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("j", 0o700))
	o := smallOptions(mem)
	o.ReadOnly = true
	if _, err := Open("j", o); ReasonOf(err) != wire.ReasonStoreMissing {
		t.Errorf("got %v", err)
	}
	if names, err := mem.List("j"); err != nil || len(names) > 0 {
		t.Errorf("left %v, %v", names, err)
	}
}

// TestDamagedTableIsOneEvent flips bytes all over a table: what Open refuses is journal_corrupt, told once for a file at
// most, and that the engine is then closed unused is no failure.
func TestDamagedTableIsOneEvent(t *testing.T) {
	v := newVictim(t, 7, true, smallOptions)
	refused := 0
	for _, path := range v.kinds[".sst"] {
		size := len(readAll(t, v.fs, path))
		for at := size - 1; at > 0; at -= 1 + size/150 {
			mem := crashfs.Killed(v.fs)
			edit(t, mem, path, func(b []byte) []byte { b[at] ^= 1; return b })
			var heard eventLog
			o := smallOptions(mem)
			o.Listener = heard.listen
			s, err := Open("j", o)
			if err == nil {
				must(t, s.Close())
				continue
			}
			refused++
			failed, damaged := heard.of(EventFailed), heard.of(EventCorruption)
			files := map[string]bool{}
			for _, e := range damaged {
				files[e.Text] = true
			}
			if !isCorrupt(err) || len(failed) != 0 || len(damaged) > len(files) {
				t.Errorf("%s byte %d: %v: failed %v, damaged %v", path, at, err, failed, damaged)
			}
		}
	}
	if refused == 0 {
		t.Error("no damage was refused")
	}
}
