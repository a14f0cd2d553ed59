package hub

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"fleetrelay/hub/wire"
)

// refusalEvery is the time between two log lines of one reason; what comes between
// is counted and named with the next.
const refusalEvery = 10 * time.Second

// refusals counts what was refused, dropped or closed, by reason, and tells the
// operator without letting anybody fill the log. It may be used from any
// goroutine.
type refusals struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	counts map[wire.Reason]uint64
	spoken map[wire.Reason]time.Time
	silent map[wire.Reason]uint64 // since spoken
}

func newRefusals(log *slog.Logger, now func() time.Time) *refusals {
	return &refusals{
		log: log, now: now, counts: map[wire.Reason]uint64{},
		spoken: map[wire.Reason]time.Time{}, silent: map[wire.Reason]uint64{},
	}
}

// note counts one refusal. who is a name, a host or a peer; it may come from a
// stranger and is bounded.
func (r *refusals) note(reason wire.Reason, what, who string) {
	level, more, speak := r.count(reason)
	if !speak {
		return
	}
	if len(who) > wire.MaxNameBytes {
		who = who[:wire.MaxNameBytes]
	}
	r.log.Log(context.Background(), level, what, "reason", string(reason), "who", who, "more", more)
}

// count says whether this refusal is told, at what level, and how many were not.
func (r *refusals) count(reason wire.Reason) (level slog.Level, more uint64, speak bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	level = slog.LevelDebug
	if !ordinary(reason) {
		level = slog.LevelInfo
		r.counts[reason]++
	}
	now := r.now()
	if last, ok := r.spoken[reason]; ok && now.Sub(last) < refusalEvery {
		r.silent[reason]++
		return level, 0, false
	}
	more = r.silent[reason]
	r.spoken[reason], r.silent[reason] = now, 0
	return level, more, true
}

// ordinary says that a socket ended as sockets do: nothing was refused.
func ordinary(reason wire.Reason) bool {
	switch reason {
	case wire.ReasonClientClosed, wire.ReasonConnectionLost, wire.ReasonHubShutdown, wire.ReasonSuperseded:
		return true
	}
	return false
}

// countedByCore says that a socket ended for a reason that was counted when the core decided it: who guesses tokens
// must not escape the count by hanging up first.
func countedByCore(reason wire.Reason) bool {
	switch reason {
	case wire.ReasonTokenRequired, wire.ReasonTokenInvalid, wire.ReasonTokenNotForName:
		return true
	}
	return false
}

// byReason is a copy of the counts since the start.
func (r *refusals) byReason() map[wire.Reason]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}
