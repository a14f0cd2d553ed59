package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// quicConn is a [Conn] over one QUIC connection with one stream.
type quicConn struct {
	qc  *quic.Conn
	hub wire.HubID
	pin certs.Pin
	// The one stream. The dialer has it from the start; the acceptor's first
	// caller waits for it, until the dialer has written, and the others for him.
	claimed   atomic.Bool
	ready     chan struct{} // closed when the two below are set
	opened    *quic.Stream
	openError error

	wmu sync.Mutex // serialises writers; Close does not take it
	buf *bufio.Writer

	cmu    sync.Mutex
	closed wire.Reason // "" while open from this side
}

var _ Conn = (*quicConn)(nil)

// newQUICConn wraps a verified connection; stream is nil on the accepting side.
func newQUICConn(qc *quic.Conn, stream *quic.Stream) *quicConn {
	hub, pin := certs.PeerOf(qc.ConnectionState().TLS)
	c := &quicConn{qc: qc, hub: wire.HubID(hub), pin: pin, ready: make(chan struct{})}
	c.buf = bufio.NewWriterSize(streamWriter{c}, WriteBuffer)
	if stream != nil {
		c.claimed.Store(true)
		c.opened = stream
		close(c.ready)
	}
	return c
}

func (c *quicConn) stream() (*quic.Stream, error) {
	if c.claimed.CompareAndSwap(false, true) {
		c.opened, c.openError = c.qc.AcceptStream(context.Background()) // ends with the connection
		close(c.ready)
	}
	<-c.ready
	return c.opened, c.openError
}

// streamWriter is what the buffer empties into.
type streamWriter struct{ c *quicConn }

func (w streamWriter) Write(p []byte) (int, error) {
	stream, err := w.c.stream()
	if err != nil {
		return 0, err
	}
	return stream.Write(p)
}

func (c *quicConn) Read(p []byte) (int, error) {
	stream, err := c.stream()
	if err != nil {
		return 0, c.failure("read", err)
	}
	n, err := stream.Read(p)
	if err != nil {
		return n, c.failure("read", err)
	}
	return n, nil
}

func (c *quicConn) Write(p []byte) (int, error) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	n, err := c.buf.Write(p)
	if err != nil {
		return n, c.failure("write", err)
	}
	return n, nil
}

func (c *quicConn) Flush() error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if err := c.buf.Flush(); err != nil {
		return c.failure("write", err)
	}
	return nil
}

// failure classifies an error of the stream. Why the connection as a whole
// ended says more than what its stream saw of it, and the reason it was closed
// with here more than the number that was sent.
func (c *quicConn) failure(op string, err error) error {
	if _, stream := errors.AsType[*quic.StreamError](err); stream || errors.Is(err, io.EOF) {
		// Nothing on this side or on a peer that keeps to the protocol ends the
		// stream alone.
		return &Error{Op: op, Reason: wire.ReasonLinkProtocol, Remote: true, Err: err}
	}
	e := classify(op, err)
	c.cmu.Lock()
	defer c.cmu.Unlock()
	if c.closed != "" && !e.Remote {
		e.Reason = c.closed
	}
	return e
}

func (c *quicConn) Close(reason wire.Reason) error {
	c.cmu.Lock()
	if c.closed != "" {
		c.cmu.Unlock()
		return nil
	}
	c.closed = reason
	c.cmu.Unlock()
	// No text goes along: the code is all that the other side needs.
	if err := c.qc.CloseWithError(codeOf(reason), ""); err != nil {
		return classify("close", err)
	}
	return nil
}

func (c *quicConn) Peer() (wire.HubID, certs.Pin) { return c.hub, c.pin }

func (c *quicConn) RemoteAddr() string { return c.qc.RemoteAddr().String() }

// Path names the kind of transport.
func (c *quicConn) Path() string { return "quic" }

// RTT is the smoothed round-trip time.
func (c *quicConn) RTT() time.Duration { return c.qc.ConnectionStats().SmoothedRTT }
