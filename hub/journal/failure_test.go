package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// failFrom fails the n-th operation, or every one from there on.
type failFrom struct {
	n, seen atomic.Int64
	forEver bool
}

func (f *failFrom) MaybeError(errorfs.Op) error {
	seen, n := f.seen.Add(1), f.n.Load()
	if seen == n || (f.forEver && seen > n) {
		return errorfs.ErrInjected
	}
	return nil
}

func (f *failFrom) String() string { return "failFrom" }

// TestEveryCallFails fails file system call n for every n until a run succeeds: what Wait returned for is there
// afterwards, every error has its reason, nothing hangs, and the next start is consistent.
func TestEveryCallFails(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	for _, forEver := range []bool{false, true} {
		t.Run(fmt.Sprintf("for_ever=%v", forEver), func(t *testing.T) {
			outcomes := map[string]int{}
			for n := int64(1); ; n++ {
				outcome, err := failOnce(seed, n, forEver)
				if err != nil {
					t.Fatalf("call %d: %v", n, err)
				}
				outcomes[outcome]++
				if outcome == "not reached" {
					t.Logf("%d calls: %v", n, outcomes)
					return
				}
			}
		})
	}
}

const failBatches = 30

// failOnce runs the workload with call n failing and says what that led to.
func failOnce(seed uint64, n int64, forEver bool) (outcome string, err error) {
	mem := vfs.NewCrashableMem()
	w := newWorld(seed)
	w.maxBody = 6000
	inject := &failFrom{forEver: forEver}
	inject.n.Store(n)
	s, err := Open("j", smallOptions(errorfs.Wrap(mem, inject)))
	switch {
	case err != nil:
		if ReasonOf(err) == "" {
			return "", fmt.Errorf("Open: an error without a reason: %w", err)
		}
		outcome = "open refused"
	default:
		if outcome, err = runFailing(s, w, inject); err != nil {
			return "", err
		}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	after := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 25 * rng.IntN(5), RNG: rng})
	return outcome, w.reopen(smallOptions(after), int(w.told.Load()))
}

func runFailing(s *Store, w *world, inject *failFrom) (outcome string, err error) {
	err = w.run(s, failBatches)
	if err != nil && ReasonOf(err) != wire.ReasonJournalFailed {
		return "", fmt.Errorf("an error without its reason: %w", err)
	}
	if err != nil {
		if _, again := s.Apply(w.next()); ReasonOf(again) != wire.ReasonJournalFailed {
			return "", fmt.Errorf("after %w: a stopped store takes another batch: %w", err, again)
		}
		w.states = w.states[:len(w.states)-1]
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case closeErr := <-closed:
		if err != nil && ReasonOf(closeErr) != wire.ReasonJournalFailed {
			return "", fmt.Errorf("Close after a failure says %w", closeErr)
		}
		return outcomeOf(err, closeErr, inject), nil
	case <-time.After(20 * time.Second):
		return "", errors.New("Close hangs")
	}
}

func outcomeOf(run, closed error, inject *failFrom) string {
	switch {
	case run != nil:
		return "stopped"
	case closed != nil:
		return "close failed"
	case inject.seen.Load() < inject.n.Load():
		return "not reached"
	}
	return "did not matter"
}
