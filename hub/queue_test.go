package hub

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// numbered is a command that only counts.
type numbered struct {
	small
	source, n int
}

func (numbered) decide(*view, *draft) {}

// One flooding source gives as many commands a round as a quiet one.
func TestIntakeIsFair(t *testing.T) {
	in := newIntake()
	flood, quiet := newSource(64), newSource(64)
	for i := range 64 {
		in.offer(flood, numbered{source: 1, n: i})
	}
	in.offer(quiet, numbered{source: 2})
	got := in.take(nil, 2, 1<<20)
	if got[0].(numbered).source != 1 || got[1].(numbered).source != 2 {
		t.Fatalf("first round %v", got)
	}
	rest := in.take(nil, 512, 1<<20)
	for i, c := range rest {
		if c.(numbered).n != i+1 {
			t.Fatalf("order broken at %d: %v", i, c)
		}
	}
	if len(rest) != 63 {
		t.Fatalf("%d left", len(rest))
	}
}

// A turn is bounded by weight, but never empty.
func TestIntakeTakesByWeight(t *testing.T) {
	in := newIntake()
	src := newSource(64)
	for i := range 10 {
		in.offer(src, numbered{n: i})
	}
	if n := len(in.take(nil, 512, 65)); n != 2 {
		t.Errorf("65 bytes gave %d commands of 64", n)
	}
	if n := len(in.take(nil, 512, 1)); n != 1 {
		t.Errorf("1 byte gave %d commands", n)
	}
}

// A full queue holds its own producer back, until the core takes, its context
// ends or the core stops.
func TestIntakeBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake()
		src := newSource(1)
		in.offer(src, numbered{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 3)
		push := func(ctx context.Context) { done <- in.push(ctx, src, numbered{}) }

		go push(t.Context())
		synctest.Wait()
		in.take(nil, 1, 1<<20)
		if err := <-done; err != nil {
			t.Errorf("after room: %v", err)
		}
		go push(ctx)
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
		go push(t.Context())
		synctest.Wait()
		in.stop()
		if err := <-done; !errors.Is(err, errStopped) {
			t.Errorf("after stop: %v", err)
		}
	})
}
