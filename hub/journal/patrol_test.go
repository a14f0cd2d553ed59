package journal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// patrolOnce walks the journal once without pacing and returns the ranges reported.
func patrolOnce(t *testing.T, mem *vfs.MemFS) (state PatrolState, found []string) {
	t.Helper()
	o := smallOptions(mem)
	o.Listener = func(e StoreEvent) {
		if e.Kind == EventCorruption {
			found = append(found, e.Text)
		}
	}
	s, err := Open("j", o)
	must(t, err)
	defer s.Close()
	p := NewPatrol(s, func() time.Time { return time.UnixMicro(5) })
	p.pace.SetLimit(1 << 40)
	if !p.round(t.Context()) {
		t.Fatal("the round did not end")
	}
	return p.State(), found
}

// A patrol passes over a whole journal, purged bodies and replaced snapshots included, and goes on behind what is
// damaged.
func TestPatrol(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s, err := Open("j", smallOptions(mem))
	must(t, err)
	for range 700 {
		commit(t, s, chat("a"), chat("b"), chat("c"))
	}
	ev, _, err := s.Event(2)
	must(t, err)
	commit(t, s, NewEvent(0, 1, BodyPurged{Seq: 2, Digest: ev.Digest}))
	must(t, s.Close())

	if state, found := patrolOnce(t, mem); state.Through != 2101 || state.Rounds != 1 || state.DoneUS != 5 || found != nil {
		t.Fatalf("a whole journal: %+v, %v", state, found)
	}
	tamper(t, mem, func(b *pebble.Batch) {
		must(t, b.Set(seqKey(tableBody, 7), []byte("other"), nil))
		must(t, b.Delete(seqKey(tableEvent, 1500), nil))
		must(t, b.Set(seqKey(tableBody, 2000), []byte("other"), nil))
	})
	state, found := patrolOnce(t, mem)
	if got := strings.Join(found, ", "); got != "event 7, event 1500, event 2000" || state.Rounds != 1 || state.Damage == "" {
		t.Fatalf("damage found: %s; %+v", got, state)
	}
}

// A patrol ends with its context and with its store.
func TestPatrolEnds(t *testing.T) {
	s, err := Open("j", smallOptions(vfs.NewCrashableMem()))
	must(t, err)
	commit(t, s, chat("a"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); NewPatrol(s, time.Now).Run(ctx) }()
	cancel()
	<-ended
	must(t, s.Close())
	if _, err := NewPatrol(s, time.Now).page(t.Context(), 0); !errors.Is(err, ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
	NewPatrol(s, time.Now).Run(cancelled(t))
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
