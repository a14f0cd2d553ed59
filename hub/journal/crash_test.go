package journal

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// crasher takes a power cut before every operation that changes the file system, checks what is left and goes on.
type crasher struct {
	mem    *vfs.MemFS
	mu     sync.Mutex
	rng    *rand.Rand
	w      *world
	clones []crashed
}

// crashed is what a power cut left, and what had been told by then.
type crashed struct {
	fs   *vfs.MemFS
	told int
	op   string
}

// MaybeError is the injector: it injects nothing and takes a clone.
func (c *crasher) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	told := int(c.w.told.Load())
	percent := []int{0, 30, 70, 100}[c.rng.IntN(4)]
	clone := c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.rng})
	c.clones = append(c.clones, crashed{clone, told, fmt.Sprintf("%v %s, %d%% of unsynced data kept", op.Kind, op.Path, percent)})
	return nil
}

func (c *crasher) String() string { return "crasher" }

// TestCrashAfterEveryWrite cuts the power before every change to the disk that a mixed workload makes: what was told
// is in what reopens, and that is a prefix of what was written. Some of the recoveries are cut in the same way.
func TestCrashAfterEveryWrite(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	batches, again := 220, 40
	if testing.Short() {
		batches, again = 60, 10
	}
	mem := vfs.NewCrashableMem()
	w := newWorld(seed)
	c := &crasher{mem: mem, rng: rand.New(rand.NewPCG(seed, 2)), w: w}
	s, err := Open("j", smallOptions(errorfs.Wrap(mem, c)))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.run(s, batches); err != nil {
		t.Fatal(err)
	}
	m := s.Metrics()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d power cuts, %d flushes, %d compactions", len(c.clones), m.Flushes, m.Compactions)
	for i, cut := range c.clones {
		if err := w.reopen(smallOptions(cut.fs), cut.told); err != nil {
			t.Fatalf("power cut %d (%s) after %d told batches: %v", i, cut.op, cut.told, err)
		}
	}
	for range again {
		i := c.rng.IntN(len(c.clones))
		if err := c.cutRecovery(c.clones[i]); err != nil {
			t.Fatalf("power cut %d (%s): %v", i, c.clones[i].op, err)
		}
	}
}

// cutRecovery opens what a power cut left and cuts the power during that, too.
func (c *crasher) cutRecovery(cut crashed) error {
	second := &crasher{mem: cut.fs, rng: c.rng, w: newWorld(0)}
	if err := c.w.reopen(smallOptions(errorfs.Wrap(cut.fs, second)), cut.told); err != nil {
		return err
	}
	for i, again := range second.clones {
		if err := c.w.reopen(smallOptions(again.fs), cut.told); err != nil {
			return fmt.Errorf("then power cut %d (%s): %w", i, again.op, err)
		}
	}
	return nil
}
