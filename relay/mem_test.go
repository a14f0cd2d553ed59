package relay

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// stream is one direction of an in-memory connection: bounded, and cut after a given number of bytes if asked to be.
type stream struct {
	mu    sync.Mutex
	moved *sync.Cond
	buf   []byte
	limit int
	total int // bytes ever written
	cutAt int // the connection ends when total reaches it; -1 never
	ended bool
	onCut func()
	sink  bool // what is written vanishes
}

func newStream() *stream {
	s := &stream{limit: 64 << 10, cutAt: -1}
	s.moved = sync.NewCond(&s.mu)
	return s
}

func (s *stream) write(p []byte) error {
	for len(p) > 0 {
		n, cut, err := s.put(p)
		if cut {
			s.onCut()
		}
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (s *stream) put(p []byte) (n int, cut bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink {
		return len(p), false, nil
	}
	for !s.ended && len(s.buf) >= s.limit {
		s.moved.Wait()
	}
	if s.ended {
		return 0, false, io.ErrClosedPipe
	}
	n = min(len(p), s.limit-len(s.buf))
	if s.cutAt >= 0 && s.total+n >= s.cutAt {
		n, cut = s.cutAt-s.total, true
		s.ended = true
		err = io.ErrClosedPipe
	}
	s.buf = append(s.buf, p[:n]...)
	s.total += n
	s.moved.Broadcast()
	return n, cut, err
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) == 0 && !s.ended {
		s.moved.Wait()
	}
	if len(s.buf) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.buf)
	s.buf = s.buf[n:]
	s.moved.Broadcast()
	return n, nil
}

// end ends the stream; what was written can still be read unless it is dropped.
func (s *stream) end(drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if drop {
		s.buf = nil
	}
	s.moved.Broadcast()
}

// memConn is one end of an in-memory connection.
type memConn struct {
	in, out *stream
	peer    wire.HubID
	pin     certs.Pin

	mu   sync.Mutex
	buf  []byte
	gone bool
}

// vanish makes this end disappear without the other one noticing.
func (c *memConn) vanish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.sink = true
}

func (c *memConn) Read(p []byte) (int, error) { return c.in.read(p) }

func (c *memConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.buf = append(c.buf, p...)
	full := len(c.buf) >= 64<<10
	c.mu.Unlock()
	if full {
		return len(p), c.Flush()
	}
	return len(p), nil
}

func (c *memConn) Flush() error {
	c.mu.Lock()
	out, gone := c.buf, c.gone
	c.buf = nil
	c.mu.Unlock()
	if gone {
		return nil
	}
	return c.out.write(out)
}

// Close drops what the other end has not read, as a connection may.
func (c *memConn) Close(wire.Reason) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in.end(true)
	if !c.gone {
		c.out.end(true)
	}
	return nil
}

func (c *memConn) Peer() (wire.HubID, certs.Pin) { return c.peer, c.pin }
func (c *memConn) RemoteAddr() string            { return "mem:" + string(c.peer) }

func pinFor(id wire.HubID) (p certs.Pin) {
	copy(p[:], id)
	return p
}

// memPair is a connection between two hubs. onCut ends both directions, keeping what had arrived.
func memPair(dialler, listener wire.HubID) (d, l *memConn) {
	to, from := newStream(), newStream()
	cut := func() {
		to.end(false)
		from.end(false)
	}
	to.onCut, from.onCut = cut, cut
	return &memConn{in: from, out: to, peer: listener, pin: pinFor(listener)},
		&memConn{in: to, out: from, peer: dialler, pin: pinFor(dialler)}
}

// network connects relays by hub id.
type network struct {
	mu    sync.Mutex
	ports map[string]chan Conn
	dials int
	// made, when set, may change a connection before it is used; an error fails the dial.
	made func(n int, dialler *memConn) error
	// delay is how long the n-th dial takes.
	delay func(n int, from wire.HubID) time.Duration
}

func newNetwork() *network { return &network{ports: map[string]chan Conn{}} }

func (n *network) port(endpoint string) chan Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ports[endpoint] == nil {
		n.ports[endpoint] = make(chan Conn)
	}
	return n.ports[endpoint]
}

func (n *network) dialled() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

// memTransport is one hub's place in the network.
type memTransport struct {
	net  *network
	self wire.HubID
}

var errUnreachable = errors.New("nobody is there")

func (t memTransport) Dial(ctx context.Context, to transport.Target) (Conn, error) {
	t.net.mu.Lock()
	t.net.dials++
	nth, made, delay := t.net.dials, t.net.made, t.net.delay
	t.net.mu.Unlock()
	d, l := memPair(t.self, to.Hub)
	wait := time.Duration(0)
	if delay != nil {
		wait = delay(nth, t.self)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if made != nil {
		if err := made(nth, d); err != nil {
			return nil, err
		}
	}
	giveUp := time.NewTimer(time.Second)
	defer giveUp.Stop()
	select {
	case t.net.port(to.Endpoints[0]) <- l:
		return d, nil
	case <-giveUp.C:
		return nil, errUnreachable
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t memTransport) Accept(ctx context.Context) (Conn, error) {
	select {
	case c := <-t.net.port(string(t.self)):
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
