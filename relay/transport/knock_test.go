package transport_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// heard keeps the knocks that a node was told of.
type heard struct {
	mu   sync.Mutex
	list []federation.Knock
}

func (h *heard) tell(k federation.Knock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, k)
}

func (h *heard) all() []federation.Knock {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

var secret = []byte("0123456789abcdef")

func invited(endpoint string, hub wire.HubID) transport.Target {
	return transport.Target{Endpoints: []string{endpoint}, Hub: hub, Call: certs.Call{Invite: secret, Endpoints: []string{"relay.b.example:8877"}}}
}

// TestKnock goes through what an inviter can be to who knocks.
func TestKnock(t *testing.T) {
	alpha, beta, other := identity(t, "a.example"), identity(t, "b.example"), identity(t, "c.example")
	turned := certstest.Trusts{Trust: certstest.Trust{}, Turned: map[certs.Pin]certs.Code{beta.Pin(): certs.PeerRejected}}
	tests := map[string]struct {
		trust   certs.Trust // of the inviter
		hub     wire.HubID
		pin     certs.Pin
		want    transport.KnockResult
		why     wire.Reason
		knocked int
	}{
		"not approved yet": {certstest.Trusting(other), "a.example", alpha.Pin(), transport.KnockRefused, "", 1},
		"approved":         {certstest.Trusting(beta), "a.example", alpha.Pin(), transport.KnockAccepted, "", 0},
		"turned away":      {turned, "a.example", alpha.Pin(), transport.KnockRefused, "", 0},
		"another key":      {certstest.Trusting(other), "a.example", other.Pin(), 0, wire.ReasonPinMismatch, 0},
		"another hub":      {certstest.Trusting(other), "x.example", other.Pin(), 0, wire.ReasonWrongHubID, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var knocks heard
			inviter := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: alpha, Trust: func() certs.Trust { return test.trust }, Knocked: knocks.tell})
			joiner := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: beta, Trust: func() certs.Trust { return certstest.Trust{} }})
			got, err := joiner.Knock(t.Context(), invited(inviter.Addr().String(), test.hub), test.pin)
			if got != test.want {
				t.Errorf("knocked with %d, %v", got, err)
			}
			if e, ok := errors.AsType[*transport.Error](err); (err != nil) != (test.why != "") || ok && (e.Reason != test.why || !e.Final || e.Remote) {
				t.Errorf("failed with %v", err)
			}
			if list := knocks.all(); len(list) != test.knocked {
				t.Fatalf("the inviter was told of %v", list)
			} else if test.knocked > 0 {
				checkKnock(t, list[0], beta)
			}
			if test.want == transport.KnockAccepted {
				checkSilent(t, inviter)
			}
		})
	}
}

func checkKnock(t *testing.T, k federation.Knock, from *certs.Identity) {
	t.Helper()
	if string(k.Hub) != from.HubID() || k.Pin != federation.Pin(from.Pin()) || k.Host != "127.0.0.1" || k.Invite != federation.InviteHash(secret) {
		t.Errorf("told of %+v", k)
	}
	if !slices.Equal(k.Endpoints, []string{"relay.b.example:8877"}) {
		t.Errorf("told of the endpoints %v", k.Endpoints)
	}
}

// checkSilent holds that who was let in by a knock said nothing and went.
func checkSilent(t *testing.T, q *transport.QUIC) {
	t.Helper()
	conn, err := q.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("a knock said %d bytes, %v", n, err)
	}
}

// TestUnsignedIsNotToldOf: a certificate that somebody made around another's
// key cannot put words into the mouth of the key's owner.
func TestUnsignedIsNotToldOf(t *testing.T) {
	us := identity(t, "a.example")
	var knocks heard
	acceptor := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: us, Trust: func() certs.Trust { return certstest.Trust{} }, Knocked: knocks.tell})
	forger, err := certstest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	id, err := certstest.Identity(certstest.Spec{Hub: "b.example", Signer: forger})
	if err != nil {
		t.Fatal(err)
	}
	dialer := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: id, Trust: func() certs.Trust { return certstest.Trusting(us) }})
	wantRefused(t, dialer, acceptor.Addr().String(), "a.example", wire.ReasonCertificateRefused)
	if list := knocks.all(); len(list) > 0 || acceptor.Refused()[wire.ReasonUnknownPeer] != 1 {
		t.Errorf("told of %v, refused %v", list, acceptor.Refused())
	}
}

// TestInvitedCallIsNoSecretToAnyoneElse: a dialer that does not find whom it
// expects shows nothing of its call.
func TestInvitedCallIsNoSecretToAnyoneElse(t *testing.T) {
	us, right := identity(t, "b.example"), identity(t, "a.example")
	impostor, err := certstest.Mint(certstest.Spec{Hub: "a.example"})
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan int, 4)
	conf := certstest.Hostile(&impostor)
	q := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: us, Trust: func() certs.Trust { return certstest.Trust{} }})
	addr := listenRaw(t, conf, shown)
	_, err = q.Knock(t.Context(), invited(addr, "a.example"), right.Pin())
	if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != wire.ReasonPinMismatch || !e.Final {
		t.Errorf("got %v", err)
	}
	select {
	case n := <-shown:
		t.Errorf("the impostor was shown %d certificates", n)
	default:
	}
}

// TestKnocksAreHeldBack: of one host's many calls few are told.
func TestKnocksAreHeldBack(t *testing.T) {
	us := identity(t, "a.example")
	now := time.Now()
	var knocks heard
	acceptor := start(t, udp(t, "127.0.0.1:0"), transport.Options{
		Identity: us, Trust: func() certs.Trust { return certstest.Trust{} }, Knocked: knocks.tell, Now: func() time.Time { return now },
	})
	const callers = 20
	for i := range callers {
		q := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: identity(t, fmt.Sprintf("x%d.example", i)), Trust: func() certs.Trust { return certstest.Trusting(us) }})
		wantRefused(t, q, acceptor.Addr().String(), "a.example", wire.ReasonCertificateRefused)
	}
	if got := len(knocks.all()); got != 8 {
		t.Errorf("told of %d", got)
	}
	if got := acceptor.Refused()[wire.ReasonUnknownPeer]; got != callers {
		t.Errorf("counted %d", got)
	}
}

// TestEndpointRuleIsOne: what an invitation and an approval take for an endpoint
// is what a call can say and a certificate is read for.
func TestEndpointRuleIsOne(t *testing.T) {
	for _, host := range []string{
		"", "a", "a.example", "-a", "a-b", ".a", "a b", "a_b", "_a", "é", "[::1]", "[::]", "::1", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7::]", "[1::8]", "[::1:2:3:4:5:6:7]",
		"[1:2:3:4:5:6:7::8]", "[1:2:3:4:5:6:7]", "[1::2::3]", "[fe80::1%a]", "[::ffff:1.2.3.4]", "[12345::]", "[g::]", "[:1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:]", "[:::]", "[:]", "[]", "[", "[::1", "1.2.3.4", "a:1",
	} {
		for _, port := range []string{"", ":", ":0", ":1", ":01", ":65535", ":65536", ":+1", ":a", ":1 "} {
			e := host + port
			call := certs.Call{Endpoints: []string{e}}
			if federation.ValidEndpoint(e) != call.Valid() {
				t.Errorf("%q is an endpoint of a peer: %v, of a call: %v", e, federation.ValidEndpoint(e), call.Valid())
			}
		}
	}
	if federation.MaxEndpoints != certs.MaxEndpoints || federation.MaxEndpointBytes != certs.MaxEndpointBytes || federation.InviteBytes != certs.InviteBytes {
		t.Error("the bounds differ")
	}
	if federation.InviteHash(secret) == federation.InviteHash(bytes.ToUpper(secret)) {
		t.Error("two secrets have one hash")
	}
}

// listenRaw accepts over QUIC and tells how many certificates each caller that
// completed the handshake has shown.
func listenRaw(t *testing.T, conf *tls.Config, shown chan<- int) string {
	t.Helper()
	conf.VerifyConnection = func(state tls.ConnectionState) error {
		shown <- len(state.PeerCertificates)
		return nil
	}
	tr := &quic.Transport{Conn: udp(t, "127.0.0.1:0")}
	t.Cleanup(func() { _ = tr.Close() })
	ln, err := tr.Listen(conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String()
}

// TestTrustChanges follows one pair through what an operator can decide. Every
// handshake is judged by the snapshot of its moment, in both directions.
func TestTrustChanges(t *testing.T) {
	alpha, beta := identity(t, "a.example"), identity(t, "b.example")
	known := func(id *certs.Identity) federation.Peer {
		return federation.Peer{Hub: wire.HubID(id.HubID()), Pins: []federation.Pin{federation.Pin(id.Pin())}}
	}
	var trust atomic.Pointer[federation.Trust]
	var knocks heard
	a := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: alpha, Trust: func() certs.Trust { return trust.Load() }, Knocked: knocks.tell})
	b := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: beta, Trust: func() certs.Trust { return certstest.Trusting(alpha) }})

	none := federation.NewTrust("a.example", nil)
	approved := none.With(known(beta))
	for _, step := range []struct {
		name     string
		trust    *federation.Trust
		inbound  wire.Reason // why the acceptor refuses
		outbound wire.Reason // why the dialer does
		knocks   int
	}{
		{"unknown", none, wire.ReasonUnknownPeer, wire.ReasonUnknownPeer, 1},
		{"rejected", none.Reject(federation.RejectedPin{Pin: federation.Pin(beta.Pin())}), wire.ReasonPeerRejected, wire.ReasonPeerRejected, 1},
		{"approved", approved, "", "", 1},
		{"revoked", approved.Revoke("b.example", federation.Revocation{RevokedBy: "Ann"}), wire.ReasonPeerRevoked, wire.ReasonPeerRevoked, 1},
		{"approved again", approved.Revoke("b.example", federation.Revocation{}).With(known(beta)), "", "", 1},
		{"another key approved", approved.With(federation.Peer{Hub: "b.example", Pins: []federation.Pin{{1}}}), wire.ReasonPinMismatch, wire.ReasonPinMismatch, 1},
		{"under another id", none.With(federation.Peer{Hub: "c.example", Pins: []federation.Pin{federation.Pin(beta.Pin())}}), wire.ReasonWrongHubID, wire.ReasonUnknownPeer, 1},
	} {
		t.Run(step.name, func(t *testing.T) {
			trust.Store(step.trust)
			before := a.Refused()
			if step.inbound == "" {
				got, err := b.Knock(t.Context(), target(a.Addr().String(), "a.example"), alpha.Pin())
				if got != transport.KnockAccepted || err != nil {
					t.Fatalf("inbound: %d, %v", got, err)
				}
				checkSilent(t, a)
			} else {
				wantRefused(t, b, a.Addr().String(), "a.example", wire.ReasonCertificateRefused)
				if a.Refused()[step.inbound] != before[step.inbound]+1 {
					t.Errorf("inbound: refused %v, before %v", a.Refused(), before)
				}
			}
			conn, err := a.Dial(t.Context(), target(b.Addr().String(), "b.example"))
			if err == nil {
				_ = conn.Close(wire.ReasonHubShutdown)
			}
			if e, ok := errors.AsType[*transport.Error](err); ok != (step.outbound != "") || ok && (e.Reason != step.outbound || !e.Final) {
				t.Errorf("outbound: %v, want %q", err, step.outbound)
			}
			if n := len(knocks.all()); n != step.knocks {
				t.Errorf("told of %d knocks", n)
			}
		})
	}
}
