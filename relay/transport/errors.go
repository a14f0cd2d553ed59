package transport

import (
	"errors"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// Error is a failure of a connection or of an attempt to make one.
type Error struct {
	// Op is what failed: dial, accept, read, write or close.
	Op string
	// Reason is the word for it.
	Reason wire.Reason
	// Remote is set when the other side ended it.
	Remote bool
	// Final means that another path must not be tried for this attempt: the
	// other side is not who was expected, or this node is not to it.
	Final bool
	// Err is the cause. It wraps net.ErrClosed or the context's error where
	// one of these was the cause.
	Err error
}

// Error returns the operation, the word and the cause.
func (e *Error) Error() string {
	return "transport: " + e.Op + ": " + string(e.Reason) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// WireReason returns the word.
func (e *Error) WireReason() wire.Reason { return e.Reason }

// classify gives a failure its word. Whatever is not known to be something else
// is a lost link.
func classify(op string, err error) *Error {
	e := &Error{Op: op, Reason: wire.ReasonLinkLost, Err: err}
	if refusal, ok := errors.AsType[*certs.Error](err); ok {
		e.Reason, e.Final = wire.Reason(refusal.Code), true
		return e
	}
	if app, ok := errors.AsType[*quic.ApplicationError](err); ok {
		e.Reason, e.Remote = reasonOf(app.ErrorCode), app.Remote
		return e
	}
	if _, ok := errors.AsType[*quic.VersionNegotiationError](err); ok {
		e.Reason = wire.ReasonRelayVersion
		return e
	}
	if t, ok := errors.AsType[*quic.TransportError](err); ok {
		e.Remote = t.Remote
		e.Reason, e.Final = transportReason(t)
	}
	return e
}

// Bounds of the codes that carry a TLS alert (RFC 9001, section 4.8).
const (
	firstCryptoError = quic.TransportErrorCode(0x100)
	lastCryptoError  = quic.TransportErrorCode(0x1ff)
)

// TLS alerts that mean something of their own (RFC 8446, section 6).
const (
	alertBadCertificate        = 42
	alertAccessDenied          = 49 // the last of those about certificates
	alertDecryptError          = 51 // the proof of possession failed
	alertCertificateRequired   = 116
	alertNoApplicationProtocol = 120
)

func transportReason(t *quic.TransportError) (_ wire.Reason, final bool) {
	switch {
	case t.ErrorCode == quic.NoError, t.ErrorCode == quic.ConnectionRefused, t.ErrorCode == quic.NoViablePathError:
		return wire.ReasonLinkLost, false // it goes away, or is busy
	case t.ErrorCode == quic.InternalError && !t.Remote:
		return wire.ReasonLinkLost, false // the system does not take a packet, as without a network
	case t.ErrorCode < firstCryptoError || t.ErrorCode > lastCryptoError:
		return wire.ReasonLinkProtocol, false
	}
	return alertReason(uint64(t.ErrorCode-firstCryptoError), t.Remote)
}

func alertReason(alert uint64, remote bool) (_ wire.Reason, final bool) {
	switch {
	case alert == alertNoApplicationProtocol:
		return wire.ReasonRelayVersion, false
	case !remote:
		return wire.ReasonLinkProtocol, true // its handshake proves nothing
	case alert >= alertBadCertificate && alert <= alertAccessDenied, alert == alertDecryptError, alert == alertCertificateRequired:
		return wire.ReasonCertificateRefused, true
	default:
		return wire.ReasonLinkProtocol, false
	}
}
