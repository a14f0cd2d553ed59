package relay

import (
	"context"
	"errors"
	"time"

	"fleetrelay/certs"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
	"fleetrelay/relay/transport"
)

// Conn is one authenticated connection to a peer; transport has its contract.
type Conn = transport.Conn

// Transport makes connections; *transport.QUIC is one. A failure that has a reason carries it as an error with a method
// WireReason.
type Transport interface {
	// Dial connects to the target and proves that it is the hub wanted.
	Dial(ctx context.Context, t transport.Target) (Conn, error)
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

// pathOf and rttOf ask a connection what not every one of them knows.
func pathOf(c Conn) string {
	if p, ok := c.(interface{ Path() string }); ok {
		return p.Path()
	}
	return ""
}

func rttOf(c Conn) time.Duration {
	if r, ok := c.(interface{ RTT() time.Duration }); ok {
		return r.RTT()
	}
	return 0
}
