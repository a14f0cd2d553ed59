package relay

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// A link shows its life every beatTime and ends after silenceTime without a byte from the peer, whatever the connection
// below it believes.
const (
	beatTime    = 400 * time.Millisecond
	silenceTime = 2500 * time.Millisecond
)

// samples is how many beats are remembered: of the latest ones, that with the shortest way tells the clocks best.
const samples = 8

// pulse is what the beats of one connection tell: when the peer was last heard, how long the way is, how far its clock is
// off. The zero pulse is not ready; see newPulse.
type pulse struct {
	began time.Time    // monotonic origin
	heard atomic.Int64 // nanoseconds since began

	mu    sync.Mutex
	sent  [samples]sentBeat
	nSent int
	last  uint64 // TimeUS of the latest beat of the peer
	gotAt time.Time
	taken [samples]sample
	nTook int
}

type sentBeat struct {
	timeUS uint64
	at     time.Time
}

// sample is one measurement: the way there and back, and how far the peer's clock is ahead.
type sample struct{ rtt, offset time.Duration }

func newPulse() *pulse { return &pulse{began: time.Now()} }

// alive notes that a byte came.
func (p *pulse) alive() { p.heard.Store(int64(time.Since(p.began))) }

// silence is how long nothing came.
func (p *pulse) silence() time.Duration { return time.Since(p.began) - time.Duration(p.heard.Load()) }

// listener is a connection's reading side whose every byte is life.
type listener struct {
	io.Reader
	pulse *pulse
}

func (l listener) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if n > 0 {
		l.pulse.alive()
	}
	return n, err
}

// next is the beat to be sent now; wall is this side's clock.
func (p *pulse) next(wall time.Time) frame.Beat {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := frame.Beat{TimeUS: unixMicro(wall), EchoUS: p.last}
	if p.last > 0 {
		b.HeldUS = uint64(time.Since(p.gotAt).Microseconds())
	}
	p.sent[p.nSent%samples] = sentBeat{b.TimeUS, time.Now()}
	p.nSent++
	return b
}

// unixMicro is a time as beats carry it; one that they cannot carry is 0, "no clock".
func unixMicro(t time.Time) uint64 {
	if us := t.UnixMicro(); us > 0 && us < 1<<53 {
		return uint64(us)
	}
	return 0
}

// take enters a beat of the peer. Only an echo of a beat that was sent lately measures anything, and never less than
// nothing: a peer can lie about its clock, and not about ours.
func (p *pulse) take(b frame.Beat, wall time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.last, p.gotAt = b.TimeUS, now
	at, ok := p.sentAtLocked(b.EchoUS)
	held := time.Duration(min(b.HeldUS, uint64(time.Hour/time.Microsecond))) * time.Microsecond
	rtt := now.Sub(at) - held
	if !ok || rtt < 0 || b.TimeUS == 0 || unixMicro(wall) == 0 {
		return
	}
	theirs := time.UnixMicro(int64(b.TimeUS)).Add(rtt / 2)
	p.taken[p.nTook%samples] = sample{rtt, theirs.Round(0).Sub(wall.Round(0))} // without monotonic readings: clocks are compared
	p.nTook++
}

func (p *pulse) sentAtLocked(timeUS uint64) (at time.Time, ok bool) {
	for i := range min(p.nSent, samples) {
		if s := &p.sent[i]; s.timeUS == timeUS && timeUS > 0 {
			return s.at, true
		}
	}
	return at, false
}

// measured is the best of the latest samples; ok is false while there is none.
func (p *pulse) measured() (best sample, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range min(p.nTook, samples) {
		if s := p.taken[i]; i == 0 || s.rtt < best.rtt {
			best = s
		}
	}
	return best, p.nTook > 0
}

// beating shows life and watches for it, until the link ends. It has a goroutine and timers of its own, so that nothing
// that keeps the writer or the core busy looks like a dead link.
func (l *link) beating() {
	beat, silent := time.NewTicker(beatTime), time.NewTimer(silenceTime)
	defer beat.Stop()
	defer silent.Stop()
	for {
		select {
		case <-beat.C:
			l.beatDue.Store(true)
			l.wake()
		case <-silent.C:
			if l.pulse.silence() >= silenceTime {
				l.end(refuse(wire.ReasonLinkLost, "nothing was heard for %v", silenceTime))
				return
			}
			silent.Reset(silenceTime - l.pulse.silence())
		case <-l.ctx.Done():
			return
		}
	}
}

// writeBeat sends a beat if one is due.
func (l *link) writeBeat() error {
	if !l.beatDue.CompareAndSwap(true, false) {
		return nil
	}
	b := l.pulse.next(l.now())
	l.scratch = b.Append(l.scratch[:0])
	if _, err := l.conn.Write(l.scratch); err != nil {
		return lostOr(err)
	}
	return nil
}

// onBeat takes the peer's clock.
func (l *link) onBeat(f frame.Frame) error {
	b, err := frame.ParseBeat(f)
	if err != nil {
		return lostOr(err)
	}
	l.pulse.take(b, l.now())
	return nil
}
