package hub

import (
	"context"
	"errors"
	"sync"
)

// errStopped is returned to a producer once the core takes nothing more.
var errStopped = errors.New("hub: the core has stopped")

// sourceDepth bounds the commands one producer may have waiting: the inbound
// queue of one socket (core-wire-v2 section 1).
const sourceDepth = 64

// sourceBytes bounds their weight. One command always has room.
const sourceBytes = 4 << 20

// source is one producer's bounded queue into the core: an agent's socket, a
// link's lane, the operators. Its fields belong to the intake's lock.
type source struct {
	depth  int
	share  int // commands it gives a round
	queue  []command
	bytes  int           // weight of queue
	listed bool          // stands in the intake's ring
	space  chan struct{} // holds a token when a waiting producer may try again
}

// newSource returns an empty queue that holds at most depth commands, and at most
// sourceBytes of them unless one alone is heavier.
func newSource(depth int) *source {
	return &source{depth: depth, share: 1, space: make(chan struct{}, 1)}
}

// laneShare is what a peer's lane gives a round: it speaks for a whole hub.
const laneShare = 16

// intake is the fair door of the core: sources with something to say stand in a
// ring and each gives one command a round, a peer's lane a few, so a flooding
// agent delays only itself.
type intake struct {
	mu      sync.Mutex
	ring    []*source
	stopped bool
	done    chan struct{} // closed with stopped
	wake    chan struct{} // holds a token while the ring may be non-empty
}

func newIntake() *intake {
	return &intake{done: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// push queues one command, waiting while the source's own queue is full. It
// returns errStopped after stop and the context's error when that ends first.
func (in *intake) push(ctx context.Context, src *source, cmd command) error {
	for {
		queued, stopped := in.offer(src, cmd)
		switch {
		case stopped:
			return errStopped
		case queued:
			return nil
		}
		select {
		case <-src.space:
		case <-in.done:
			return errStopped
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// offer queues one command if there is room and never waits.
func (in *intake) offer(src *source, cmd command) (queued, stopped bool) {
	in.mu.Lock()
	if in.stopped {
		in.mu.Unlock()
		return false, true
	}
	if n := len(src.queue); n > 0 {
		if last, ok := src.queue[n-1].(absorber); ok && last.absorb(cmd) {
			in.mu.Unlock()
			return true, false
		}
	}
	size := cmd.size()
	if len(src.queue) >= src.depth || (len(src.queue) > 0 && src.bytes+size > sourceBytes) {
		in.mu.Unlock()
		return false, false
	}
	src.queue = append(src.queue, cmd)
	src.bytes += size
	room := len(src.queue) < src.depth && src.bytes < sourceBytes
	if !src.listed {
		src.listed = true
		in.ring = append(in.ring, src)
	}
	in.mu.Unlock()
	if room {
		signal(src.space) // several producers may wait on one source
	}
	signal(in.wake)
	return true, false
}

// absorber is a command that may take the one behind it along. Its size must not
// change by that.
type absorber interface {
	absorb(next command) bool
}

// take moves up to limit commands weighing up to maxBytes into dst, each source
// its share a round. At least one command is taken if any waits.
func (in *intake) take(dst []command, limit, maxBytes int) []command {
	in.mu.Lock()
	defer in.mu.Unlock()
	weight := 0
	for len(dst) < limit && weight < maxBytes && len(in.ring) > 0 {
		src := in.ring[0]
		in.ring = in.ring[1:]
		for n := 0; n < src.share && len(src.queue) > 0 && len(dst) < limit && weight < maxBytes; n++ {
			cmd := src.pop()
			dst = append(dst, cmd)
			weight += cmd.size()
		}
		if len(src.queue) > 0 {
			in.ring = append(in.ring, src)
		} else {
			src.listed = false
			src.queue = nil
		}
		signal(src.space)
	}
	return dst
}

// pop removes the oldest command. The caller holds the intake's lock.
func (s *source) pop() command {
	cmd := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.bytes -= cmd.size()
	return cmd
}

// stop refuses every later command and wakes all who wait. What is queued may
// still be taken.
func (in *intake) stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.stopped {
		in.stopped = true
		close(in.done)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
