package transport_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/sync/errgroup"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
	"fleetrelay/relay/transport/transporttest"
)

// TestDialRefuses plays certificates against a dialer: each failure has its
// word, is final and local.
func TestDialRefuses(t *testing.T) {
	now := time.Now()
	us, right, other := identity(t, "a.example"), identity(t, "b.example"), identity(t, "c.example")
	tests := map[string]struct {
		want  wire.HubID
		trust certs.Trust
		now   time.Time
		why   wire.Reason
	}{
		"other key":     {"b.example", certstest.Trust{"b.example": {other.Pin()}}, now, wire.ReasonPinMismatch},
		"other hub":     {"c.example", certstest.Trusting(other), now, wire.ReasonWrongHubID},
		"nobody":        {"b.example", certstest.Trust{}, now, wire.ReasonUnknownPeer},
		"expired":       {"b.example", certstest.Trusting(right), now.Add(48 * time.Hour), wire.ReasonCertificateExpired},
		"not yet valid": {"b.example", certstest.Trusting(right), now.Add(-48 * time.Hour), wire.ReasonCertificateNotYetValid},
	}
	b := side(t, right, certstest.Trusting(us))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			q := start(t, udp(t, "127.0.0.1:0"), transport.Options{
				Identity: us, Trust: func() certs.Trust { return test.trust }, Now: func() time.Time { return test.now },
			})
			_, err := q.Dial(t.Context(), target(b.Addr, test.want))
			if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != test.why || !e.Final || e.Remote {
				t.Fatalf("got %v, want %s", err, test.why)
			}
		})
	}
}

// TestAcceptorRefuses: the dialer trusts the acceptor but not the other way
// round. The acceptor hands out no connection, logs and counts; the dialer is
// told that it was refused and no more.
func TestAcceptorRefuses(t *testing.T) {
	us, them := identity(t, "a.example"), identity(t, "b.example")
	var log lockedBuffer
	acceptor := start(t, udp(t, "127.0.0.1:0"), transport.Options{
		Identity: us, Trust: func() certs.Trust { return certstest.Trust{} }, Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	dialer := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: them, Trust: func() certs.Trust { return certstest.Trusting(us) }})
	const times = 5
	for range times {
		wantRefused(t, dialer, acceptor.Addr().String(), "a.example", wire.ReasonCertificateRefused)
	}
	if got := acceptor.Refused()[wire.ReasonUnknownPeer]; got != times {
		t.Errorf("counted %d refusals", got)
	}
	lines := bytes.Split(bytes.TrimSpace(log.bytes()), []byte("\n"))
	var line struct {
		Reason  string `json:"reason"`
		Remote  string `json:"remote"`
		Claimed string `json:"claimed"`
		Detail  string `json:"detail"`
	}
	if err := wire.UnmarshalLax(lines[0], &line); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || line.Reason != "unknown_peer" || line.Remote != "127.0.0.1" || line.Claimed != "b.example" || line.Detail == "" {
		t.Errorf("logged %s", log.bytes())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if conn, err := acceptor.Accept(ctx); err == nil {
		t.Errorf("a refused caller became %v", conn)
	}
}

func target(endpoint string, want wire.HubID) transport.Target {
	return transport.Target{Endpoints: []string{endpoint}, Hub: want}
}

// wantRefused dials and, since TLS lets a dialer finish before it is judged,
// uses the connection until the verdict is there.
func wantRefused(t *testing.T, q *transport.QUIC, addr string, want wire.HubID, why wire.Reason) {
	t.Helper()
	conn, err := q.Dial(t.Context(), target(addr, want))
	if err == nil {
		_, err = conn.Write([]byte("application bytes"))
		err = errors.Join(err, conn.Flush())
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		defer conn.Close(wire.ReasonLinkLost)
	}
	if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != why || !e.Final || !e.Remote {
		t.Fatalf("got %v, want %s", err, why)
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}

// TestOtherProtocol dials something that speaks QUIC but not this.
func TestOtherProtocol(t *testing.T) {
	cert, err := certstest.Mint(certstest.Spec{Hub: "b.example"})
	if err != nil {
		t.Fatal(err)
	}
	tr := &quic.Transport{Conn: udp(t, "127.0.0.1:0")}
	ln, err := tr.Listen(certstest.Hostile(&cert, "h3"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	id, _ := certs.FromCertificate(cert)
	q := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: identity(t, "a.example"), Trust: func() certs.Trust { return certstest.Trusting(id) }})
	_, err = q.Dial(t.Context(), target(ln.Addr().String(), "b.example"))
	if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != wire.ReasonRelayVersion {
		t.Fatalf("got %v", err)
	}
}

func TestBadEndpoints(t *testing.T) {
	a, _ := quicPair(t)
	for _, endpoint := range []string{"", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "no.such.host.invalid:1"} {
		_, err := a.Endpoint.Dial(t.Context(), target(endpoint, "B_b.example"))
		if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != wire.ReasonLinkLost || e.Final {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

// TestUnknownDialers sends a thousand callers with keys nobody knows, many at
// once, past a peer that must get through. Nothing of them may stay.
func TestUnknownDialers(t *testing.T) {
	us, peer := identity(t, "a.example"), identity(t, "b.example")
	var knocks heard
	acceptor := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: us, Trust: func() certs.Trust { return certstest.Trusting(peer) }, Knocked: knocks.tell})
	a := transporttest.Side{Endpoint: acceptor, Hub: "a.example", Pin: us.Pin(), Addr: acceptor.Addr().String()}
	keys := make([]tls.Certificate, 50)
	for i := range keys {
		cert, err := certstest.Mint(certstest.Spec{Hub: "x.example"})
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = cert
	}
	tr := &quic.Transport{Conn: udp(t, "127.0.0.1:0")}
	defer tr.Close()
	storm := func(callers int) {
		var group errgroup.Group
		group.SetLimit(40)
		for i := range callers {
			group.Go(func() error { return knock(t.Context(), tr, acceptor.Addr(), &keys[i%len(keys)]) })
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	storm(100)
	before := heap()
	storm(1000)
	grown := int64(heap()) - int64(before)
	t.Logf("heap grew by %d KiB over 1,000 unknown callers; refused %v", grown>>10, acceptor.Refused())
	if grown > 2<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
	if acceptor.Refused()[wire.ReasonUnknownPeer] == 0 {
		t.Error("nobody was refused")
	}
	var book federation.Strangers
	for _, k := range knocks.all() {
		book.Knock(1, k)
	}
	if told, rows := len(knocks.all()), len(book.List(1)); told == 0 || told > 100 || rows > federation.MaxStrangersPerHost {
		t.Errorf("told of %d, who take %d rows", told, rows)
	}
	transporttest.Connect(t, side(t, peer, certstest.Trusting(us)), a)
}

// knock tries until it was refused, by its certificate or for the crowd.
func knock(ctx context.Context, tr *quic.Transport, addr net.Addr, cert *tls.Certificate) error {
	conn, err := tr.Dial(ctx, addr, certstest.Hostile(cert), nil)
	if err != nil {
		return nil // refused before it was looked at
	}
	defer func() { _ = conn.CloseWithError(0, "") }()
	stream, err := conn.OpenStream()
	if err != nil {
		return nil
	}
	_, _ = stream.Write([]byte("application bytes"))
	if n, _ := io.ReadFull(stream, make([]byte, 1)); n > 0 {
		return errors.New("an unknown caller was answered")
	}
	return nil
}

// heap is what is in use after everything that can go is gone. Connections that
// ended are kept by QUIC for a few round trips.
func heap() uint64 {
	var m runtime.MemStats
	least := ^uint64(0)
	for range 5 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	return least
}
