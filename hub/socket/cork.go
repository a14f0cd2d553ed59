package socket

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// flushBytes is how much may be pending before the writer hands it to the operating system, and the
// size of one write, so that WriteTimeout asks the same speed of every frame.
const flushBytes = 64 << 10

// flushSlack is what the last frame of a piece may add without costing a second write.
const flushSlack = 4 << 10

// controlBytes is how much may be pending before pongs are left out: a peer that pings and does not read must not
// fill memory. RFC 6455 lets an endpoint answer only the most recent ping.
const controlBytes = 2 * flushBytes

// buffers holds the pending buffers of sockets that are writing; an idle socket has none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, flushBytes+flushSlack); return &b }}

// cork is the connection under the WebSocket library. Write only appends to memory; flush, called by the
// writer goroutine alone, is what reaches the network. So no goroutine but the writer can be held up by the peer,
// and frames written one after the other leave together.
type cork struct {
	net.Conn
	wake chan struct{} // cap 1, filled when somebody but the writer has written something
	read atomic.Int64  // bytes received, a sign of life

	mu      sync.Mutex
	pending *[]byte   // nil when nothing is pending
	batch   bool      // the writer is writing and will flush by itself
	last    time.Time // no write may last beyond this instant, zero = not closing
	shut    bool
}

func newCork(conn net.Conn) *cork {
	return &cork{Conn: conn, wake: make(chan struct{}, 1)}
}

func (c *cork) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// Write appends p to what is pending; it never blocks.
func (c *cork) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		return 0, net.ErrClosed
	}
	if c.pending == nil {
		c.pending = buffers.Get().(*[]byte)
	}
	*c.pending = append(*c.pending, p...)
	if !c.batch {
		c.kick()
	}
	return len(p), nil
}

// Close is what the library calls when the WebSocket has ended. It ends reading and bounds writing, and leaves the
// connection open for the writer's last flush: the library's echo of the peer's close frame is still pending. The
// socket's owner closes the connection itself.
func (c *cork) Close() error {
	c.mu.Lock()
	c.shut = true
	c.mu.Unlock()
	c.kick()
	return c.Conn.SetReadDeadline(time.Unix(1, 0))
}

// abort cuts the connection without waiting for anything; it unblocks every reader and writer.
func (c *cork) abort() {
	raw := c.Conn
	if t, ok := raw.(interface{ NetConn() net.Conn }); ok {
		raw = t.NetConn() // the close of a TLS connection may wait for its own last record
	}
	_ = raw.Close()
}

// bound lets no write last beyond t any more, the one in progress included.
func (c *cork) bound(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() || t.Before(c.last) {
		c.last = t
		_ = c.Conn.SetWriteDeadline(t)
	}
}

func (c *cork) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// setBatch tells whether the writer is in the middle of its frames and needs no wake for what is written.
func (c *cork) setBatch(on bool) {
	c.mu.Lock()
	c.batch = on
	c.mu.Unlock()
}

func (c *cork) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		return 0
	}
	return len(*c.pending)
}

// flush writes what is pending, and what is added meanwhile, to the network. Only the writer calls it.
func (c *cork) flush(timeout time.Duration) error {
	for {
		c.mu.Lock()
		buf := c.pending
		c.pending = nil
		c.mu.Unlock()
		if buf == nil {
			return nil
		}
		err := c.writeOut(*buf, timeout)
		if cap(*buf) <= 2*flushBytes {
			*buf = (*buf)[:0]
			buffers.Put(buf)
		}
		if err != nil {
			return err
		}
	}
}

func (c *cork) writeOut(b []byte, timeout time.Duration) error {
	for len(b) > 0 {
		n := len(b)
		if n > flushBytes+flushSlack {
			n = flushBytes
		}
		c.arm(timeout)
		if _, err := c.Conn.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// arm sets the deadline of the next write, never beyond the bound of a closing socket.
func (c *cork) arm(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := time.Now().Add(timeout)
	if !c.last.IsZero() && c.last.Before(t) {
		t = c.last
	}
	_ = c.Conn.SetWriteDeadline(t)
}
