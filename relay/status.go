package relay

import (
	"errors"
	"log/slog"
	"maps"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// State is where a peer's link stands.
//
//	waiting --(timer, trust changed)--> dialling --(connected)--> greeting --(hello)--> up
//	   ^                                   |                          |                 |
//	   +-----------------------------------+--------(failed)----------+------(ended)----+
//	unreachable is dialling without an answer; limited is up with profile_mismatch; fenced is waiting after a refusal that only an operator can settle
type State string

// The states.
const (
	Waiting  State = "waiting"  // for the next attempt, or for the peer
	Dialling State = "dialling" // a connection is being made
	Greeting State = "greeting" // our hello is sent, the peer's is awaited
	Up       State = "up"       // records flow
	Limited  State = "limited"  // up for control frames only: the two sides differ about the profile
	Fenced   State = "fenced"   // refused until an operator settles it; tried slowly

	Unreachable State = "unreachable" // called every 700 ms without an answer so far
)

// LinkStatus is what an operator is shown of one peer's link.
type LinkStatus struct {
	Peer  wire.HubID
	State State
	// Path and RemoteAddr are of the connection while up.
	Path       string
	RemoteAddr string
	// SinceUS is when State was entered, in Unix microseconds.
	SinceUS int64
	// Generation numbers the links to this peer since the start, 0 before the first.
	Generation uint64
	// LastReason and LastDetail say why the last link or attempt ended; Remote that the peer said so.
	LastReason wire.Reason
	LastDetail string
	Remote     bool
	// Attempts counts failed attempts since a link settled, of those that nobody answered the latest in a row; NextUS is
	// when the next one is due, 0 when none is or one is under way.
	Attempts int
	NextUS   int64
	// RevokedUS is when the peer said that it revoked its approval of this hub, 0 if a link has been up since. Its
	// refusals from then on do not say why, so the word is kept, across a restart too where this side dials.
	RevokedUS int64
	// RTT is 0 while it is not known; ClockOffset, known with it, is how far the peer's clock is ahead of ours.
	RTT         time.Duration
	ClockOffset time.Duration
	// Profile is what this side takes the link to admit, Offer what it and the peer offered, Unknown the members of the
	// peer's offer that this build does not know. All nil unless up or limited.
	Profile *federation.Profile
	Ours    *federation.Ceiling
	Theirs  *federation.Ceiling
	Unknown []string
	// Held is the first record of our lane that the profile does not admit and that therefore waits, 0 if none does.
	Held uint64
	// InFlight is how many records were sent and not acknowledged.
	InFlight int
	// StaleAcks counts acknowledgements on this link that were ignored.
	StaleAcks uint64
}

// revokedAt is the status's RevokedUS.
func (o *owner) revokedAt() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.status.RevokedUS
}

// enter notes a change of state.
func (o *owner) enter(s State) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status.State = s
	o.status.SinceUS = o.relay.opt.Now().UnixMicro()
	o.status.Attempts = o.attempts()
	if s == Up {
		o.status.Generation, o.status.RevokedUS = o.link.generation, 0
	}
	if s != Waiting && s != Fenced {
		o.status.NextUS = 0
	}
}

// attempts counts what did not become a link that settled.
func (o *owner) attempts() int {
	n := o.schedule.attempts()
	if o.attempt != nil {
		n += int(o.attempt.missed.Load())
	}
	return n
}

func (o *owner) stateNow() State {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.status.State
}

// note keeps why a link or an attempt ended, and logs it.
func (o *owner) note(e ended) {
	o.mu.Lock()
	o.status.LastReason, o.status.LastDetail, o.status.Remote = e.reason, e.detail, e.remote
	if e.remote && e.reason == wire.ReasonPeerRevoked {
		o.status.RevokedUS = o.relay.opt.Now().UnixMicro()
	}
	times, tell := o.noise.tell(e.reason, o.relay.opt.Now())
	o.mu.Unlock()
	if tell {
		level := slog.LevelWarn
		if e.reason == wire.ReasonHubShutdown {
			level = slog.LevelInfo // somebody stopped a node: nothing is wrong
		}
		o.relay.opt.Log.Log(o.relayCtx, level, "no link", "peer", o.peer, "reason", e.reason, "detail", e.detail, "remote", e.remote,
			"times", times)
	}
}

// turnedAway notes a connection of the peer that was refused by its hello, unless a link is up: then it is no news of
// the link.
func (o *owner) turnedAway(reason wire.Reason, err error) {
	if o.stateNow() != Up {
		_, remote := errors.AsType[*byeError](err)
		o.note(ended{reason: reason, detail: err.Error(), remote: remote})
	}
}

// A link that comes up is logged at once, but no more than a few times a minute: a peer may say hello as often as it likes.
const (
	upEvery = quietTime / 4
	upBurst = 8
)

// noteUp logs that the link is up.
func (o *owner) noteUp(l *link) {
	o.upHeld++
	if !o.ups.AllowN(l.since, 1) {
		return
	}
	o.relay.opt.Log.Info("link is up", "peer", o.peer, "generation", l.generation, "remote", l.conn.RemoteAddr(),
		"times", o.upHeld)
	o.upHeld = 0
}

// snapshot is the status now.
func (o *owner) snapshot() LinkStatus {
	o.mu.Lock()
	st := o.status
	o.mu.Unlock()
	if l := o.live.Load(); l != nil && st.State == Up {
		l.show(&st)
	}
	return st
}

// show adds what a live link knows of itself.
func (l *link) show(st *LinkStatus) {
	st.Path, st.RemoteAddr, st.RTT = pathOf(l.conn), l.conn.RemoteAddr(), rttOf(l.conn)
	if best, ok := l.pulse.measured(); ok {
		st.RTT, st.ClockOffset = best.rtt, best.offset
	}
	profile, ours, theirs := l.accord.profile, l.ours.Offer, l.theirs.Offer
	st.Profile, st.Ours, st.Theirs, st.Unknown = &profile, &ours, &theirs, l.unknown
	l.mu.Lock()
	defer l.mu.Unlock()
	st.InFlight, st.StaleAcks, st.Held = int(l.window.sent-l.window.acked), l.stale, l.accord.held
	if l.accord.differs() {
		why := l.mismatch()
		st.State, st.LastReason, st.LastDetail, st.Remote = Limited, why.reason, why.detail, false
	}
}

// quietTime is how long one reason is not logged again for one peer.
const quietTime = time.Minute

// maxNoise bounds the reasons that are told apart: a peer's goodbye may have any word. The others count as one.
const maxNoise = 32

// noise keeps refusals that repeat from filling the log, also those of a peer that varies them.
type noise struct{ rows map[wire.Reason]*noiseRow }

type noiseRow struct {
	last  time.Time
	times int // since last, that one not included
}

func (n *noise) tell(reason wire.Reason, now time.Time) (times int, tell bool) {
	row := n.row(reason, now)
	row.times++
	if !row.last.IsZero() && now.Sub(row.last) < quietTime {
		return 0, false
	}
	times = row.times
	row.last, row.times = now, 0
	return times, true
}

func (n *noise) row(reason wire.Reason, now time.Time) *noiseRow {
	if row := n.rows[reason]; row != nil {
		return row
	}
	if len(n.rows) >= maxNoise {
		maps.DeleteFunc(n.rows, func(_ wire.Reason, row *noiseRow) bool { return now.Sub(row.last) >= quietTime })
	}
	if len(n.rows) >= maxNoise {
		reason = "" // no peer can say this one
	}
	row := n.rows[reason]
	if row == nil {
		row = &noiseRow{}
		if n.rows == nil {
			n.rows = map[wire.Reason]*noiseRow{}
		}
		n.rows[reason] = row
	}
	return row
}
