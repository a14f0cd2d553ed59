package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/process"
)

// crowd is many agents that do nothing but be there: each a socket with a name of its own, a heartbeat every
// heartbeatEvery, and a count of what it is told about the others.
type crowd struct {
	at      string
	members []*member
	leaving atomic.Bool
	readers errgroup.Group
	lost    chan error // capacity 1: the first socket that ended by itself
}

// member is one agent. tally belongs to its reader, who holds mu.
type member struct {
	name  string
	ws    *webSocket
	mu    sync.Mutex
	tally tally
}

const (
	// noDistance is farther than any two frames.
	noDistance = math.MaxInt64
	// plainNames is the number of online names up to which a hub tells every change at once.
	plainNames = 256
	// projectSize is how many agents of a crowd share a project.
	projectSize = 40
	// joiners connect at the same time.
	joiners = 64
	// memberBuffer holds a frame of presence of one project; a reader of rare frames needs no more.
	memberBuffer = 2 << 10
	// heartbeatEvery is the pause that agents make.
	heartbeatEvery = 20 * time.Second
	beatTick       = 20 * time.Millisecond
)

func newCrowd(at string, agents int) *crowd {
	c := &crowd{at: at, lost: make(chan error, 1)}
	for i := range agents {
		c.members = append(c.members, &member{name: fmt.Sprintf("crowd%03d/agent%02d", i/projectSize, i%projectSize)})
	}
	return c
}

// join registers the members from a number up to another as fast as the hub takes them.
func (c *crowd) join(ctx context.Context, from, to int) error {
	run, ctx := errgroup.WithContext(ctx)
	next := make(chan *member)
	run.Go(func() error {
		defer close(next)
		for _, m := range c.members[from:to] {
			select {
			case next <- m:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range joiners {
		run.Go(func() error {
			var buf []byte // the welcome names everybody, so the workers share a few large ones
			for m := range next {
				var err error
				if m.ws, buf, err = registerIn(ctx, c.at, m.name, memberBuffer, buf); err != nil {
					return fmt.Errorf("%s: %w", m.name, err)
				}
				m.tally.note(buf) // of its own arrival
				c.readers.Go(func() error { c.listen(m); return nil })
			}
			return nil
		})
	}
	return run.Wait()
}

// listen counts what one member is told.
func (c *crowd) listen(m *member) {
	var buf []byte
	var err error
	for {
		if buf, err = m.ws.read(buf); err != nil {
			break
		}
		m.mu.Lock()
		m.tally.note(buf)
		m.mu.Unlock()
	}
	if c.leaving.Load() {
		return
	}
	select {
	case c.lost <- fmt.Errorf("%s: %w", m.name, err):
	default:
	}
}

// beat sends heartbeats, evenly over heartbeatEvery, for a span.
func (c *crowd) beat(ctx context.Context, span time.Duration) error {
	ticks := time.NewTicker(beatTick)
	defer ticks.Stop()
	start, sent := time.Now(), 0
	for time.Since(start) < span {
		select {
		case <-ticks.C:
		case err := <-c.lost:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		due := int(float64(len(c.members)) * float64(time.Since(start)) / float64(heartbeatEvery))
		for ; sent < due; sent++ {
			m := c.members[sent%len(c.members)]
			if err := errors.Join(m.ws.write(hello(m.name)), m.ws.flush()); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

// told adds up what the members were told so far.
func (c *crowd) told() (sum tally) {
	sum.closest = noDistance
	for _, m := range c.members {
		m.mu.Lock()
		sum.frames += m.tally.frames
		sum.most = max(sum.most, m.tally.most)
		sum.last = max(sum.last, m.tally.last)
		if m.tally.frames > 1 {
			sum.closest = min(sum.closest, m.tally.closest)
		}
		m.mu.Unlock()
	}
	return sum
}

// again starts the tallies again once the members that are here have been told of the last of them, who came last by the
// hub's clock: what the hub stamped up to then does not count.
func (c *crowd) again(ctx context.Context) error {
	var last int64
	err := process.Poll(ctx, func() error {
		var behind int
		if behind, last = c.behind(); behind > 0 {
			return fmt.Errorf("%d agents have not been told of the last one", behind)
		}
		return nil
	})
	for _, m := range c.members {
		m.mu.Lock()
		m.tally = tally{after: last}
		m.mu.Unlock()
	}
	return err
}

// behind counts the members here whose last frame is not the last one.
func (c *crowd) behind() (n int, last int64) {
	last = c.told().last
	for _, m := range c.members {
		m.mu.Lock()
		if m.tally.frames > 0 && m.tally.last < last {
			n++
		}
		m.mu.Unlock()
	}
	return n, last
}

// leave ends all sockets at once.
func (c *crowd) leave() {
	c.leaving.Store(true)
	for _, m := range c.members {
		if m.ws != nil {
			m.ws.close()
		}
	}
	_ = c.readers.Wait() // they return nothing
}

// tally counts the presence_update frames of one socket by the time the hub stamped them with: when they arrive says as
// much about this machine as about the hub.
type tally struct {
	after   int64 // microseconds; frames up to here do not count
	frames  int
	last    int64
	closest int64   // smallest distance of two frames
	recent  []int64 // within the last coalesceUS
	most    int     // largest number within coalesceUS
}

// coalesceUS is a second less the slack that the hub's clock has.
const coalesceUS = 950_000

var presenceMark = []byte(`"type":"` + string(wire.TypePresenceUpdate) + `"`)

// typeWithin bounds where a hub's frame says its type.
const typeWithin = 256

func isPresence(frame []byte) bool {
	return bytes.Contains(frame[:min(len(frame), typeWithin)], presenceMark)
}

func (t *tally) note(frame []byte) {
	if !isPresence(frame) {
		return
	}
	var f struct {
		Timestamp float64 `json:"timestamp"`
	}
	if err := wire.UnmarshalLax(frame, &f); err != nil {
		return
	}
	t.at(int64(math.Round(f.Timestamp * 1e6)))
}

func (t *tally) at(us int64) {
	if us <= t.after {
		return
	}
	if d := us - t.last; t.frames == 1 || d < t.closest {
		t.closest = d // of no weight before there are two
	}
	t.frames++
	t.last = us
	for len(t.recent) > 0 && t.recent[0] <= us-coalesceUS {
		t.recent = t.recent[1:]
	}
	t.recent = append(t.recent, us)
	t.most = max(t.most, len(t.recent))
}
