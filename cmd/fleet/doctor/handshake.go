package doctor

import (
	"context"
	"errors"
	"net"
	"slices"

	"fleetrelay/certs"
	"fleetrelay/cmd/fleet/node"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// judgement is a step of a handshake: what it is called, what is said if it is well, and the words by which it fails.
type judgement struct {
	name, well string
	codes      []wire.Reason
}

// The judgements that look at different parts of a certificate: its key and the hub it names.
const (
	pinStep = "pin"
	sanStep = "san"
)

// judgements are in the order in which they are taken.
var judgements = []judgement{
	{"tls", "TLS 1.3, " + certs.ALPN + ", a certificate signed by the key it holds", []wire.Reason{
		wire.ReasonNoCertificate, wire.ReasonRelayVersion, wire.ReasonLinkProtocol, wire.ReasonLinkLost,
	}},
	{pinStep, "the key is the one that was approved", []wire.Reason{wire.ReasonUnknownPeer, wire.ReasonPinMismatch}},
	{sanStep, "the certificate names this hub and no other", []wire.Reason{wire.ReasonWrongHubID}},
	{"eku", "the certificate may be used by a server", []wire.Reason{wire.ReasonWrongKeyUsage}},
	{"dates", "this machine's clock is within the certificate's dates", []wire.Reason{
		wire.ReasonCertificateExpired, wire.ReasonCertificateNotYetValid,
	}},
	{"admitted", "the other hub takes this node's certificate", []wire.Reason{wire.ReasonCertificateRefused}},
}

// handshake makes a connection as a link does, as far as the first byte.
func (r *Report) handshake(ctx context.Context, o Options, id *certs.Identity, p node.PeerStatus, endpoint string) {
	err := shake(ctx, o, id, p, endpoint)
	failure, _ := errors.AsType[*transport.Error](err)
	if err != nil && failure == nil {
		r.fail("tls", endpoint, err)
		return
	}
	for i, j := range judgements {
		switch {
		case failure != nil && slices.Contains(j.codes, failure.Reason):
			r.refused(j.name, endpoint, id, p, failure)
			r.afterRefusal(judgements[i+1:], endpoint, p, failure)
			return
		case j.name == pinStep && strangeKey(p, failure):
			r.wrongKey(endpoint, id, p, failure)
		default:
			r.ok(j.name, endpoint, "%s", j.well)
		}
	}
}

// afterRefusal skips what was not judged any more; what the certificate names can be said beside a wrong key.
func (r *Report) afterRefusal(later []judgement, endpoint string, p node.PeerStatus, failure *transport.Error) {
	shown, _ := errors.AsType[*certs.Error](failure.Err)
	for _, j := range later {
		if j.name == sanStep && shown != nil && shown.Hub == p.Hub {
			r.ok(j.name, endpoint, "%s", j.well)
			continue
		}
		r.skip(j.name, endpoint, "the handshake ended before")
	}
}

// strangeKey says that a certificate that was refused for the hub it names holds no approved key either: then somebody
// else is there, and not the hub with a wrong certificate.
func strangeKey(p node.PeerStatus, failure *transport.Error) bool {
	if failure == nil || failure.Reason != wire.ReasonWrongHubID {
		return false
	}
	shown, ok := errors.AsType[*certs.Error](failure.Err)
	return ok && !slices.Contains(p.Pins, shown.Pin.String())
}

// wrongKey notes a strange key; what helps is what the name in the certificate says.
func (r *Report) wrongKey(endpoint string, id *certs.Identity, p node.PeerStatus, failure *transport.Error) {
	shown, _ := errors.AsType[*certs.Error](failure.Err)
	_, next := seen(id, p, failure).LinkWhy()
	r.fail(pinStep, endpoint, &node.Refusal{
		Reason: wire.ReasonPinMismatch, Text: "the key there is " + shown.Pin.String() + ", and not one that was approved for " + p.Hub, Next: next,
	})
}

func (r *Report) skipTLS(endpoint, why string) {
	for _, j := range judgements {
		r.skip(j.name, endpoint, why)
	}
}

// refused notes the judgement that ended a handshake.
func (r *Report) refused(name, endpoint string, id *certs.Identity, p node.PeerStatus, failure *transport.Error) {
	text := ""
	if e, ok := errors.AsType[*certs.Error](failure.Err); ok {
		text = e.Detail
	}
	p = seen(id, p, failure)
	why, next := p.LinkWhy()
	if text == "" {
		text = why
	}
	r.fail(name, endpoint, &node.Refusal{Reason: wire.Reason(p.LinkReason), Text: text, Next: next})
}

// seen is the peer as it would be shown if its link had failed like that.
func seen(id *certs.Identity, p node.PeerStatus, failure *transport.Error) node.PeerStatus {
	p.LinkReason, p.LinkRemote = string(failure.Reason), failure.Remote
	if e, ok := errors.AsType[*certs.Error](failure.Err); ok && e.Hub == id.HubID() {
		p.LinkReason = string(wire.ReasonSelfDial) // the endpoint leads back here, which says more
	}
	return p
}

// shake returns nil if both sides take each other's certificate, else a *transport.Error, or what kept it from trying.
func shake(ctx context.Context, o Options, id *certs.Identity, p node.PeerStatus, endpoint string) error {
	socket, err := net.ListenPacket("udp", ":0")
	if err != nil {
		return err
	}
	nobody := federation.NewTrust(wire.HubID(id.HubID()), nil)
	q, err := transport.NewQUIC(transport.Options{
		Identity: id, Socket: socket, Now: o.Now, Trust: func() certs.Trust { return nobody },
	})
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	err = knock(ctx, q, p, endpoint)
	if failed := errors.Join(q.Close(), socket.Close()); err == nil {
		err = failed
	}
	return err
}

// knock calls the peer as the holder of one of its approved keys.
func knock(ctx context.Context, q *transport.QUIC, p node.PeerStatus, endpoint string) error {
	to := transport.Target{Endpoints: []string{endpoint}, Hub: wire.HubID(p.Hub)}
	var failure error
	for _, text := range p.Pins {
		pin, err := certs.ParsePin(text)
		if err != nil {
			return err
		}
		result, err := q.Knock(ctx, to, pin)
		if result == transport.KnockRefused {
			return &transport.Error{Op: "knock", Reason: wire.ReasonCertificateRefused, Remote: true, Final: true, Err: errRefused}
		}
		if failure = err; failure == nil {
			return nil
		}
		if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != wire.ReasonPinMismatch {
			return failure
		}
	}
	return failure
}

var errRefused = errors.New("the other hub does not take this node's certificate")
