package transport

import (
	"io"
	"net"
	"sync"
	"time"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// memWindow is how many bytes of one direction of an in-memory connection may be
// under way and unread.
const memWindow = 256 << 10

// memConn is one end of an in-memory connection. What is under way to it is kept
// here; everything but the write buffer is guarded by the network's lock.
type memConn struct {
	net         *Network
	here, there *Memory
	other       *memConn

	inbox  []parcel
	unread int // bytes of inbox
	closed *Error

	wmu sync.Mutex // serialises writers; Close does not take it
	buf []byte
}

var _ Conn = (*memConn)(nil)

// parcel is what one flush sent, and when it is there.
type parcel struct {
	due  time.Time
	data []byte
}

// pair makes both ends of a connection.
func (n *Network) pair(from, to *Memory) (mine, theirs *memConn) {
	mine = &memConn{net: n, here: from, there: to}
	theirs = &memConn{net: n, here: to, there: from, other: mine}
	mine.other = theirs
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[mine], n.conns[theirs] = struct{}{}, struct{}{}
	return mine, theirs
}

// abandon forgets a connection that nobody took.
func (c *memConn) abandon() {
	_ = c.Close(wire.ReasonLinkLost)
	_ = c.other.Close(wire.ReasonLinkLost)
}

func (c *memConn) Read(p []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for c.closed == nil && !c.readyLocked() {
		c.net.moved.Wait()
	}
	if c.closed != nil {
		return 0, c.failure("read")
	}
	n := copy(p, c.inbox[0].data)
	if c.inbox[0].data = c.inbox[0].data[n:]; len(c.inbox[0].data) == 0 {
		c.inbox = c.inbox[1:]
	}
	c.unread -= n
	c.net.moved.Broadcast()
	return n, nil
}

func (c *memConn) readyLocked() bool {
	return !c.net.cut && len(c.inbox) > 0 && !time.Now().Before(c.inbox[0].due)
}

// failure is why the connection ended, as told to one operation.
func (c *memConn) failure(op string) error {
	e := *c.closed
	e.Op = op
	return &e
}

func (c *memConn) Write(p []byte) (int, error) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.buf = append(c.buf, p...)
	if len(c.buf) < WriteBuffer {
		return len(p), nil
	}
	if err := c.send(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *memConn) Flush() error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	return c.send()
}

// send puts the buffer under way, as far as the other end has room.
func (c *memConn) send() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for len(c.buf) > 0 && c.closed == nil {
		room := min(memWindow-c.other.unread, len(c.buf))
		if room <= 0 {
			c.net.moved.Wait()
			continue
		}
		c.other.inbox = append(c.other.inbox, parcel{time.Now().Add(c.net.delay), append([]byte(nil), c.buf[:room]...)})
		c.other.unread += room
		c.buf = c.buf[:copy(c.buf, c.buf[room:])]
		c.net.arriveLocked()
	}
	if c.closed != nil {
		return c.failure("write")
	}
	return nil
}

// arriveLocked lets readers look when what was just sent is there.
func (n *Network) arriveLocked() {
	if n.delay == 0 {
		n.moved.Broadcast()
		return
	}
	time.AfterFunc(n.delay, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.moved.Broadcast()
	})
}

// Close ends both ends. In a network that is cut the other end learns of it when
// that is over.
func (c *memConn) Close(reason wire.Reason) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed != nil {
		return nil
	}
	c.closed = &Error{Reason: reason, Err: net.ErrClosed}
	c.inbox, c.unread = nil, 0
	if !c.net.cut && c.other.closed == nil {
		c.other.closed = &Error{Reason: reasonOf(codeOf(reason)), Remote: true, Err: io.EOF}
	}
	if c.other.closed != nil {
		delete(c.net.conns, c)
		delete(c.net.conns, c.other)
	}
	c.net.moved.Broadcast()
	return nil
}

func (c *memConn) Peer() (wire.HubID, certs.Pin) { return c.there.opt.Hub, c.there.opt.Pin }

func (c *memConn) RemoteAddr() string { return c.there.opt.Addr }

// Path names the kind of transport.
func (c *memConn) Path() string { return "memory" }
