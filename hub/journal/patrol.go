package journal

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fleetrelay/hub/wire"
)

// A patrol reads the whole journal again and again while the node runs, slowly: what a disk has quietly damaged is
// found before it is needed. `fleet journal verify` looks at more (tables, snapshots, tombstones), on a stopped node.
const (
	patrolBytesPerSecond = 2 << 20
	patrolBurst          = 256 << 10
	patrolPage           = 1024 // events read under one iterator
	patrolPause          = time.Hour
)

// PatrolState is how far a patrol is.
type PatrolState struct {
	Through uint64 `json:"through"`           // events of the current round found whole
	Rounds  uint64 `json:"rounds"`            // whole rounds since Open
	DoneUS  int64  `json:"done_us,omitempty"` // end of the last whole round, Unix microseconds
	Damage  string `json:"damage,omitempty"`  // the latest damage, "" for none
}

// Patrol checks the chain and every body, at most patrolBytesPerSecond, from the first event to what is synced, then
// pauses and begins again, until ctx or the store ends. Damage goes to the listener as EventCorruption, and the round
// goes on behind it. It never writes.
type Patrol struct {
	store *Store
	pace  *rate.Limiter
	now   func() time.Time

	mu    sync.Mutex
	state PatrolState
}

// NewPatrol prepares a patrol of the store; Run makes it.
func NewPatrol(s *Store, now func() time.Time) *Patrol {
	return &Patrol{store: s, pace: rate.NewLimiter(patrolBytesPerSecond, patrolBurst), now: now}
}

// State is how far the patrol is now.
func (p *Patrol) State() PatrolState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Run returns when ctx ends or the store is closed or has failed.
func (p *Patrol) Run(ctx context.Context) {
	for p.round(ctx) {
		pause := time.NewTimer(patrolPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// round walks the journal once; false ends the patrol.
func (p *Patrol) round(ctx context.Context) bool {
	end, _ := p.store.Synced()
	p.note(func(s *PatrolState) { s.Through = 0 })
	for at := uint64(0); at < end; {
		next, err := p.page(ctx, at)
		if err != nil && ReasonOf(err) != wire.ReasonJournalCorrupt {
			return false
		}
		if err != nil {
			next = p.damaged(next, err)
		}
		at = next
		p.note(func(s *PatrolState) { s.Through = min(at, end) })
	}
	p.note(func(s *PatrolState) { s.Rounds, s.DoneUS = s.Rounds+1, p.now().UnixMicro() })
	return ctx.Err() == nil
}

// errPage ends one page of a replay.
var errPage = errors.New("journal: end of page")

// page checks some events after a position and returns the new position.
func (p *Patrol) page(ctx context.Context, after uint64) (at uint64, err error) {
	at = after
	err = p.store.Replay(after, func(ev Event) error {
		if err := p.event(ctx, &ev); err != nil {
			return err
		}
		at = ev.Seq
		if at-after >= patrolPage {
			return errPage
		}
		return nil
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	return at, err
}

// event waits for its turn and checks one body against its digest. The chain was checked by the replay.
func (p *Patrol) event(ctx context.Context, ev *Event) error {
	if err := p.pace.WaitN(ctx, min(patrolBurst, 256+len(ev.Attrs)+int(ev.BodyLen))); err != nil {
		return err
	}
	if !ev.HasBody {
		return nil
	}
	_, _, err := p.store.Body(ev.Seq)
	return err
}

// damaged reports damage and says where to go on: behind it.
func (p *Patrol) damaged(at uint64, err error) (next uint64) {
	damage := Range{at + 1, at + 1}
	var je *Error
	if errors.As(err, &je) && je.Range.To > at {
		damage = je.Range
	}
	p.store.opts.Listener(StoreEvent{Kind: EventCorruption, Err: err, Text: damage.String()})
	p.note(func(s *PatrolState) { s.Damage = damage.String() + ": " + err.Error() })
	return damage.To
}

func (p *Patrol) note(change func(*PatrolState)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.state)
}
