package relay

import (
	"context"
	"errors"
	"io"
	"time"

	"fleetrelay/certs"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// Conn is one authenticated connection to a peer: one ordered byte stream in each direction.
type Conn interface {
	io.Reader
	io.Writer // buffered until Flush
	Flush() error
	// Close ends both directions and unblocks every Read and Write. It may be called more than once and from any
	// goroutine. What was written and not yet taken by the other side may be lost.
	Close(reason wire.Reason) error
	// Peer is the hub that the pinned key proved.
	Peer() (wire.HubID, certs.Pin)
	RemoteAddr() string
}

// Transport makes connections. A failure that has a reason carries it as an error with a method WireReason.
type Transport interface {
	// Dial connects to endpoint and proves that it is want.
	Dial(ctx context.Context, endpoint string, want wire.HubID) (Conn, error)
	// Accept waits for the next connection from an approved peer. An error other than the context's is final.
	Accept(ctx context.Context) (Conn, error)
}

// reasoned is an error that says its word.
type reasoned interface {
	error
	WireReason() wire.Reason
}

// reasonOf is the word that err carries, or otherwise.
func reasonOf(err error, otherwise wire.Reason) wire.Reason {
	if e, ok := errors.AsType[reasoned](err); ok {
		return e.WireReason()
	}
	if e, ok := errors.AsType[*frame.Error](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*wire.JSONError](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*hub.Error](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*certs.Error](err); ok {
		return wire.Reason(e.Code) // the codes are reason words
	}
	return otherwise
}

// pathOf and rttOf ask a connection what only some of them know.
func pathOf(c Conn) string {
	if p, ok := c.(interface{ Path() string }); ok {
		return p.Path()
	}
	return ""
}

func rttOf(c Conn) time.Duration {
	if p, ok := c.(interface{ RTT() time.Duration }); ok {
		return p.RTT()
	}
	return 0
}
