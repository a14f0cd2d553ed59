package client

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// flushBytes is how much the writer collects before it writes.
const flushBytes = 64 << 10

// corked is the network connection under the WebSocket library. After cork, Write only appends to memory and wakes the
// writer goroutine, whose flush writes: frames that are ready together leave in one system call, and the reader's
// pongs never wait for the network.
type corked struct {
	net.Conn
	wake    func()
	timeout time.Duration
	read    atomic.Int64 // bytes received, a sign of life

	out    sync.Mutex // held while writing to the network
	broken error      // guarded by out: a write failed, perhaps in the middle of a frame

	mu      sync.Mutex
	direct  bool
	pending []byte
	spare   []byte
	last    time.Time // no write beyond this instant, once closing
}

func (c *corked) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// Write appends p, or before cork and after uncork writes it through.
func (c *corked) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.pending = append(c.pending, p...)
	direct := c.direct
	c.mu.Unlock()
	if !direct {
		c.wake()
		return len(p), nil
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *corked) setDirect(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.direct = on
}

// flush writes all that is pending.
func (c *corked) flush() error {
	c.out.Lock()
	defer c.out.Unlock()
	for c.broken == nil {
		c.mu.Lock()
		b := c.pending
		c.pending = c.spare
		deadline := time.Now().Add(c.timeout)
		if !c.last.IsZero() {
			deadline = c.last
		}
		c.mu.Unlock()
		if len(b) == 0 {
			c.keep(b)
			return nil
		}
		_ = c.Conn.SetWriteDeadline(deadline)
		_, c.broken = c.Conn.Write(b)
		c.keep(b)
	}
	return c.broken
}

// keep puts a written buffer aside for later, unless it is large.
func (c *corked) keep(b []byte) {
	if cap(b) > 2*flushBytes {
		b = nil
	}
	c.spare = b[:0]
}

// Close writes what is pending, the library's answer to a close frame, within a second, and closes.
func (c *corked) Close() error {
	last := time.Now().Add(time.Second)
	c.mu.Lock()
	c.last, c.direct = last, true
	c.mu.Unlock()
	_ = c.Conn.SetWriteDeadline(last)
	_ = c.flush()
	return c.Conn.Close()
}

// bound lets no write last beyond t any more, the one in progress included.
func (c *corked) bound(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = t
	_ = c.Conn.SetWriteDeadline(t)
}
