package journal

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// slowDisk holds every table that is begun until the writer is some batches further or waits for it, and fails from one
// of them on for ever.
type slowDisk struct {
	mu       sync.Mutex
	moved    sync.Cond
	rng      *rand.Rand
	written  int  // batches
	waits    bool // the writer, for the disk
	over     bool // nothing is held any more
	tables   int  // begun so far
	failFrom int  // of tables, 0 never
	failing  bool
	all      bool // with the tables everything else fails
	err      error
	told     []error // failures told to the store's listener
}

func newSlowDisk(rng *rand.Rand) *slowDisk {
	d := &slowDisk{rng: rng, err: errorfs.ErrInjected}
	d.moved.L = &d.mu
	return d
}

func (d *slowDisk) String() string { return "slowDisk" }

func (d *slowDisk) MaybeError(op errorfs.Op) error {
	table := strings.HasSuffix(op.Path, ".sst")
	d.mu.Lock()
	defer d.mu.Unlock()
	if table && op.Kind == errorfs.OpCreate {
		d.hold()
		d.failing = d.failing || (d.failFrom > 0 && d.tables >= d.failFrom)
	}
	if d.failing && (table || d.all) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		return d.err
	}
	return nil
}

func (d *slowDisk) hold() {
	d.tables++
	until := d.written + d.rng.IntN(60)
	for d.written < until && !d.waits && !d.over {
		d.moved.Wait()
	}
}

func (d *slowDisk) listen(ev StoreEvent) {
	d.set(func() {
		switch ev.Kind {
		case EventStallBegin, EventStallEnd:
			d.waits = ev.Kind == EventStallBegin
		case EventFailed:
			d.told = append(d.told, ev.Err)
		}
	})
}

// set changes what holds tables.
func (d *slowDisk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	d.moved.Broadcast()
}

// greedy writes batches that differ in what they cost Pebble beside their bytes.
type greedy struct {
	rng      *rand.Rand
	memTable int // bytes
	rows     uint64
}

func (g *greedy) next(s *Store) *Batch {
	b := NewBatch()
	switch g.rng.IntN(12) {
	case 0: // larger than half a memtable, or than some
		seq, _ := s.Head()
		body := make([]byte, g.memTable/4+g.rng.IntN(3*g.memTable))
		b.Append(NewEvent(seq+1, 1, ChatAccepted{MsgID: 1, Sender: "p/a"}).WithBody(body, [32]byte{}))
	case 1: // larger than half a memtable for its overhead only
		g.put(b, g.memTable/150)
	case 2:
		b.Barrier()
	default:
		g.put(b, 1+g.rng.IntN(g.memTable/300))
	}
	return b
}

func (g *greedy) put(b *Batch, rows int) {
	for range rows {
		g.rows++
		b.Put(MailboxKey("p", g.rows), nil)
	}
}

// run writes until n batches are written or one fails, with up to three waiting.
func (g *greedy) run(s *Store, disk *slowDisk, n int, check func()) error {
	defer disk.set(func() { disk.over = true })
	var waiting []*Pending
	for range n {
		p, err := s.Apply(g.next(s))
		if err != nil {
			return err
		}
		disk.set(func() { disk.written++ })
		check()
		if waiting = append(waiting, p); len(waiting) > g.rng.IntN(4) {
			if err := waiting[0].Wait(); err != nil {
				return err
			}
			waiting = waiting[1:]
		}
	}
	for _, p := range waiting {
		if err := p.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// within fails the test when do has not returned in time; do's goroutine is left behind then.
func within(t *testing.T, what string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// TestFailingFlushesStop lets flushes be slow and then fail while batches are written that fill memory in every way:
// each call returns, the first error has its reason and is told once, and Close returns. There are no compactions: when
// one fails while a flush ends, a build of Pebble that checks itself, as with the race detector, finds fault with its own
// books and panics.
func TestFailingFlushesStop(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	for i := range uint64(150) {
		if !t.Run(fmt.Sprint(i), func(t *testing.T) { failFlushes(t, rand.New(rand.NewPCG(seed, i))) }) {
			return
		}
	}
}

func failFlushes(t *testing.T, rng *rand.Rand) {
	disk := newSlowDisk(rng)
	disk.failFrom, disk.all = 1+rng.IntN(6), rng.IntN(4) == 0
	if rng.IntN(8) == 0 {
		disk.err = fmt.Errorf("%w: injected", pebble.ErrCorruption)
	}
	o := smallOptions(errorfs.Wrap(vfs.NewMem(), disk))
	o.Listener = disk.listen
	o.MemTableBytes <<= 2 * rng.IntN(3)
	o.testing.noCompact = true
	s, err := Open("j", o)
	must(t, err)
	writer := greedy{rng: rand.New(rand.NewPCG(rng.Uint64(), 1)), memTable: int(o.MemTableBytes)}
	err = within(t, "writing", func() error { return writer.run(s, disk, 100_000, func() {}) })
	if ReasonOf(err) != wire.ReasonJournalFailed {
		t.Fatalf("writing ended with %v", err)
	}
	closeErr := within(t, "Close", s.Close)
	disk.mu.Lock()
	defer disk.mu.Unlock()
	if len(disk.told) != 1 || disk.told[0] != s.Failure() || closeErr != s.Failure() {
		t.Errorf("%v was told, Close says %v, the failure is %v", disk.told, closeErr, s.Failure())
	}
}

// TestMemoryIsBounded writes faster than the disk takes it and looks at what Pebble holds.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(seedOf(t), 1))
	disk := newSlowDisk(rng)
	o := smallOptions(errorfs.Wrap(vfs.NewMem(), disk))
	waits := 0
	o.Listener = func(ev StoreEvent) {
		if disk.listen(ev); ev.Kind == EventStallBegin {
			waits++
		}
	}
	s, err := Open("j", o)
	must(t, err)
	writer := greedy{rng: rand.New(rand.NewPCG(rng.Uint64(), 1)), memTable: int(o.MemTableBytes)}
	most := uint64(0)
	check := func() { most = max(most, s.db.Metrics().MemTable.Size/uint64(o.MemTableBytes)) }
	must(t, within(t, "writing", func() error { return writer.run(s, disk, 600, check) }))
	must(t, within(t, "Close", s.Close))
	t.Logf("%d waits, at most %d memtables", waits, most)
	// A batch here is at most 3.25 memtables and may fill one before; one such step comes on top, and one may be missed.
	if waits == 0 || most > maxMemTables+2*(1+4) {
		t.Errorf("%d waits, at most %d memtables' bytes in memory", waits, most)
	}
}

// TestSmallMemTablesDoNotWait: the first memtables are small and are flushed together, when they come to half of a whole
// one; to wait for that flush after a few of them would be to wait for ever.
func TestSmallMemTablesDoNotWait(t *testing.T) {
	t.Parallel()
	o := smallOptions(vfs.NewMem())
	o.MemTableBytes = 32 << 20
	s, err := Open("j", o)
	must(t, err)
	writer := greedy{memTable: 2 << 20}
	must(t, within(t, "writing", func() error {
		for range 20 {
			b := NewBatch()
			writer.put(b, 5000)
			p, err := s.Apply(b)
			if err != nil {
				return err
			}
			if err := p.Wait(); err != nil {
				return err
			}
		}
		return nil
	}))
	if count := s.db.Metrics().MemTable.Count; count <= maxMemTables {
		t.Errorf("only %d memtables: the test shows nothing", count)
	}
	must(t, s.Close())
}
