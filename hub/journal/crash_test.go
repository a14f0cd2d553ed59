package journal

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/testenv/crashfs"
)

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
	rng := rand.New(rand.NewPCG(seed, 2))
	c := crashfs.New(mem, rng, func() int { return int(w.told.Load()) })
	s, err := Open("j", smallOptions(c.FS()))
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
	cuts := c.Cuts()
	t.Logf("%d power cuts, %d flushes, %d compactions", len(cuts), m.Flushes, m.Compactions)
	for i, cut := range cuts {
		if err := w.reopen(smallOptions(cut.FS), cut.Mark); err != nil {
			t.Fatalf("power cut %d (%s) after %d told batches: %v", i, cut.Op, cut.Mark, err)
		}
	}
	for range again {
		i := rng.IntN(len(cuts))
		if err := w.cutRecovery(cuts[i], rng); err != nil {
			t.Fatalf("power cut %d (%s): %v", i, cuts[i].Op, err)
		}
	}
}

// cutRecovery opens what a power cut left and cuts the power during that, too.
func (w *world) cutRecovery(cut crashfs.Cut, rng *rand.Rand) error {
	second := crashfs.New(cut.FS, rng, func() int { return 0 })
	if err := w.reopen(smallOptions(second.FS()), cut.Mark); err != nil {
		return err
	}
	for i, again := range second.Cuts() {
		if err := w.reopen(smallOptions(again.FS), cut.Mark); err != nil {
			return fmt.Errorf("then power cut %d (%s): %w", i, again.Op, err)
		}
	}
	return nil
}
