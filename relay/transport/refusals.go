package transport

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

const (
	// refusalInterval is how often one cause from one host is logged.
	refusalInterval = time.Minute
	// maxRefusals bounds the causes and hosts that are told apart; beyond it
	// all others of one cause are one.
	maxRefusals = 256
	otherHosts  = "others"
)

// refusals logs refused callers without letting them fill the log, and counts
// all of them.
type refusals struct {
	log *slog.Logger

	mu    sync.Mutex
	rows  map[refusalKey]*refusalRow
	total map[wire.Reason]uint64
}

// refusalKey has the host and not the hub, which is a claim that costs nothing
// to vary.
type refusalKey struct {
	reason wire.Reason
	host   string
}

type refusalRow struct {
	limit *rate.Limiter
	seen  time.Time
	held  uint64 // not logged since the last line
}

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log, rows: map[refusalKey]*refusalRow{}, total: map[wire.Reason]uint64{}}
}

// refusal is one caller turned away.
type refusal struct {
	reason wire.Reason
	host   string
	// claimed is the hub that the caller says it is, which proves nothing.
	claimed string
	detail  string
}

func refusalOf(e *certs.Error, host string) refusal {
	return refusal{reason: wire.Reason(e.Code), host: host, claimed: e.Hub, detail: e.Detail}
}

// note counts a refusal and logs it if its cause and host were not logged for
// an interval.
func (r *refusals) note(e refusal, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total[e.reason]++
	row := r.rowLocked(refusalKey{e.reason, e.host}, now)
	row.seen = now
	if !row.limit.AllowN(now, 1) {
		row.held++
		return
	}
	r.log.Warn("link refused", "reason", e.reason, "remote", e.host, "claimed", e.claimed, "detail", e.detail, "held_back", row.held)
	row.held = 0
}

func (r *refusals) rowLocked(key refusalKey, now time.Time) *refusalRow {
	if row, ok := r.rows[key]; ok {
		return row
	}
	if len(r.rows) >= maxRefusals {
		r.forgetLocked(now)
	}
	if len(r.rows) >= maxRefusals {
		key.host = otherHosts
	}
	row, ok := r.rows[key]
	if !ok {
		row = &refusalRow{limit: rate.NewLimiter(rate.Every(refusalInterval), 1)}
		r.rows[key] = row
	}
	return row
}

// forgetLocked drops the rows that would log at once again.
func (r *refusals) forgetLocked(now time.Time) {
	maps.DeleteFunc(r.rows, func(_ refusalKey, row *refusalRow) bool {
		return now.Sub(row.seen) >= refusalInterval
	})
}

func (r *refusals) counts() map[wire.Reason]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.total)
}
