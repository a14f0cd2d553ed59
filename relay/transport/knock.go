package transport

import (
	"context"
	"errors"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// KnockResult is what the other side decided about this node.
type KnockResult int

const (
	// KnockRefused: the other side is who it should be and refused this node's
	// certificate. It does not say whether it has yet to approve it or turned
	// it away.
	KnockRefused KnockResult = iota + 1
	// KnockAccepted: the other side has approved this node.
	KnockAccepted
)

// Knock calls a hub that has invited this one and is known by one key only, and
// ends as soon as the other side has judged this node's certificate. Not one
// byte of a link is sent. An error is an [*Error]: final if somebody else than
// that hub with that key is there, not final if the other side cannot be reached
// or has said nothing until the handshake's time or ctx was over.
func (q *QUIC) Knock(ctx context.Context, t Target, pin certs.Pin) (KnockResult, error) {
	trust := certs.Only(string(t.Hub), pin)
	settings := quicConfig(-1)
	verdicts := newVerdicts()
	settings.TokenStore = verdicts
	c, failure := q.reach(ctx, t, func() certs.Trust { return trust }, settings, verdicts.await)
	switch {
	case failure == nil:
		_ = c.Close(wire.ReasonLinkLost) // it carries nothing; the other side sees a call without a hello
		return KnockAccepted, nil
	case failure.Remote && failure.Reason == wire.ReasonCertificateRefused:
		return KnockRefused, nil
	default:
		return 0, failure
	}
}

// verdicts hears of the acceptor's judgement. A dialer is done with the
// handshake before the acceptor has seen its certificate, and an acceptance is
// silent but for the token that QUIC gives to a client whose handshake is
// complete on the server's side, which is right after its certificate was taken.
type verdicts struct{ given chan struct{} } // capacity 1

func newVerdicts() *verdicts { return &verdicts{given: make(chan struct{}, 1)} }

// Pop implements [quic.TokenStore]: none is kept.
func (*verdicts) Pop(string) *quic.ClientToken { return nil }

// Put implements [quic.TokenStore].
func (v *verdicts) Put(string, *quic.ClientToken) {
	select {
	case v.given <- struct{}{}:
	default:
	}
}

var errNoVerdict = errors.New("the other side did not say whether it takes this node's certificate")

// await waits for an acceptance, of whichever connection, or the end of qc.
func (v *verdicts) await(ctx context.Context, qc *quic.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errNoVerdict)
	defer cancel()
	select {
	case <-v.given:
		return nil
	case <-qc.Context().Done():
		return context.Cause(qc.Context())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
