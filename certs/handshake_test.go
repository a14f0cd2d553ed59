package certs_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"io"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"go.uber.org/goleak"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "application bytes"

// TestHandshakes plays every kind of certificate against both roles over both
// carriers. One table, so that no path can lack a rule that another has.
func TestHandshakes(t *testing.T) {
	carriers := map[string]carrier{"tls": overTCP, "quic": overQUIC}
	for name, run := range carriers {
		for _, test := range handshakes(t) {
			if test.cert != nil { // a server without a certificate does not exist in TLS 1.3
				t.Run(name+"/dial/"+test.name, func(t *testing.T) { test.play(t, run, true, test.dial) })
			}
			t.Run(name+"/accept/"+test.name, func(t *testing.T) { test.play(t, run, false, test.accept) })
		}
	}
}

// verdict is what the judging side must say: a code, or none, and words that
// its sentence must hold.
type verdict struct {
	code  certs.Code
	words []string
}

type handshake struct {
	name         string
	cert         *tls.Certificate // what hub b presents
	now          time.Time        // of the judging side
	trust        certs.Trust      // of the judging side; the table fills in peers
	dial, accept verdict
}

// both is for cases in which the role makes no difference.
func both(name string, cert *tls.Certificate, v verdict) handshake {
	return handshake{name: name, cert: cert, now: time.Now(), dial: v, accept: v}
}

var (
	us     = mustIdentity(certstest.Spec{Hub: "a.example"})
	keyB   = mustKey()
	keyC   = mustKey()
	right  = mustIdentity(certstest.Spec{Hub: "B_b.example", Key: keyB})
	third  = mustIdentity(certstest.Spec{Hub: "c.example", Key: keyC})
	peers  = certstest.Trusting(right, third)
	judged = "B_b.example"
)

func handshakes(t *testing.T) []handshake {
	t.Helper()
	mint := func(s certstest.Spec) *tls.Certificate {
		if s.Hub == "" {
			s.Hub = judged
		}
		if s.Key == nil {
			s.Key = keyB
		}
		cert, err := certstest.Mint(s)
		if err != nil {
			t.Fatal(err)
		}
		return &cert
	}
	uris := func(texts ...string) []*url.URL {
		list := []*url.URL{}
		for _, text := range texts {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, u)
		}
		return list
	}
	usages := func(list ...x509.ExtKeyUsage) *tls.Certificate {
		return mint(certstest.Spec{Usages: append([]x509.ExtKeyUsage{}, list...)})
	}
	noServer := verdict{certs.WrongKeyUsage, []string{"server side", "serverAuth"}}
	noClient := verdict{certs.WrongKeyUsage, []string{"client side", "clientAuth"}}
	wrongHub := verdict{code: certs.WrongHubID}
	now := time.Now()

	tests := []handshake{
		both("right", mint(certstest.Spec{}), verdict{}),
		both("same key, new certificate", mint(certstest.Spec{Serial: big.NewInt(7), NotAfter: now.Add(time.Minute)}), verdict{}),
		both("signature encoded again", malleate(t, mint(certstest.Spec{})), verdict{}),
		both("expired certificate behind the leaf", withExtra(mint(certstest.Spec{}), mint(certstest.Spec{NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour)})), verdict{}),
		{"approved certificate behind a wrong leaf", withExtra(mint(certstest.Spec{Hub: "x.example", Key: mustKey()}), mint(certstest.Spec{})), now, nil, wrongHub, verdict{code: certs.UnknownPeer}},

		both("wrong pin", mint(certstest.Spec{Key: mustKey()}), verdict{certs.PinMismatch, []string{judged, "sha256:"}}),
		both("blocked key, signature encoded again", malleate(t, mint(certstest.Spec{Key: mustKey()})), verdict{code: certs.PinMismatch}),
		both("no client certificate", nil, verdict{certs.NoCertificate, []string{"client side"}}),
		both("other hub's name on the right key", mint(certstest.Spec{Hub: "c.example"}), verdict{certs.WrongHubID, []string{judged, "c.example"}}),
		both("other case of the name", mint(certstest.Spec{Hub: "b_b.example"}), wrongHub),
		both("two names", mint(certstest.Spec{URIs: uris("fleet://hub/"+judged, "fleet://hub/c.example")}), wrongHub),
		both("name twice", mint(certstest.Spec{URIs: uris("fleet://hub/"+judged, "fleet://hub/"+judged)}), wrongHub),
		both("name and rubbish", mint(certstest.Spec{URIs: uris("fleet://hub/"+judged, "fleet://hub/a/b")}), wrongHub),
		both("no name", mint(certstest.Spec{URIs: uris()}), verdict{certs.WrongHubID, []string{"names no hub"}}),
		both("other scheme", mint(certstest.Spec{URIs: uris("https://hub/" + judged)}), wrongHub),
		both("other host", mint(certstest.Spec{URIs: uris("fleet://node/" + judged)}), wrongHub),
		both("percent-encoded name", mint(certstest.Spec{URIs: uris("fleet://hub/%42_b.example")}), wrongHub),
		both("name with a query", mint(certstest.Spec{URIs: uris("fleet://hub/" + judged + "?x")}), wrongHub),
		both("name with a fragment", mint(certstest.Spec{URIs: uris("fleet://hub/" + judged + "#x")}), wrongHub),

		{"certificate of another approved hub", mint(certstest.Spec{Hub: "c.example", Key: keyC}), now, nil, verdict{certs.WrongHubID, []string{judged, "c.example"}}, verdict{}},
		{"unknown hub and key", mint(certstest.Spec{Hub: "x.example", Key: mustKey()}), now, nil, wrongHub, verdict{certs.UnknownPeer, []string{"x.example", "sha256:"}}},
		{"other case of the name, unknown key", mint(certstest.Spec{Hub: "b_b.example", Key: mustKey()}), now, nil, wrongHub, verdict{code: certs.UnknownPeer}},

		{"usage none", usages(), now, nil, noServer, noClient},
		{"usage server", usages(x509.ExtKeyUsageServerAuth), now, nil, verdict{}, noClient},
		{"usage client", usages(x509.ExtKeyUsageClientAuth), now, nil, noServer, verdict{}},
		{"usage both", usages(x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth), now, nil, verdict{}, verdict{}},
		{"usage any", usages(x509.ExtKeyUsageAny), now, nil, noServer, noClient},
		{"usage unknown", mint(certstest.Spec{Usages: []x509.ExtKeyUsage{}, UnknownUsages: []asn1.ObjectIdentifier{{1, 3, 6, 1, 4, 1, 99999, 1}}}), now, nil, noServer, noClient},
		both("no digital signature", mint(certstest.Spec{KeyUsage: x509.KeyUsageKeyAgreement}), verdict{certs.WrongKeyUsage, []string{"digitalSignature"}}),
		both("unknown critical extension", mint(certstest.Spec{Critical: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, 2}, Critical: true, Value: []byte{5, 0}}}}), verdict{certs.WrongKeyUsage, []string{"critical"}}),

		both("expired", mint(certstest.Spec{NotBefore: now.Add(-3 * time.Hour), NotAfter: now.Add(-90*time.Minute - 5*time.Second)}), verdict{certs.CertificateExpired, []string{"valid until", "1h30m"}}),
		both("not yet valid", mint(certstest.Spec{NotBefore: now.Add(2*time.Hour + 30*time.Second)}), verdict{certs.CertificateNotYetValid, []string{"valid from", "2h0m", "ahead"}}),
		{"clock in 1970", mint(certstest.Spec{}), time.Unix(0, 0), nil, verdict{certs.CertificateNotYetValid, []string{"ahead of this node's clock"}}, verdict{code: certs.CertificateNotYetValid}},
		{"clock in 2099", mint(certstest.Spec{}), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), nil, verdict{certs.CertificateExpired, []string{"behind this node's clock"}}, verdict{code: certs.CertificateExpired}},
	}
	for i := range tests {
		tests[i].trust = peers
	}
	return append(tests, turnedAway(mint)...)
}

// turnedAway are right certificates around keys that an operator turned away,
// one of them still approved, and one with a code that is none.
func turnedAway(mint func(certstest.Spec) *tls.Certificate) []handshake {
	stranger := mustKey()
	unknown := mustIdentity(certstest.Spec{Hub: judged, Key: stranger})
	var tests []handshake
	for turned, code := range map[certs.Code]certs.Code{
		certs.PeerRevoked: certs.PeerRevoked, certs.PeerRejected: certs.PeerRejected, "anything else": certs.PeerRejected,
	} {
		trust := certstest.Trusts{Trust: peers, Turned: map[certs.Pin]certs.Code{right.Pin(): turned, unknown.Pin(): turned}}
		for name, cert := range map[string]*tls.Certificate{
			"approved": mint(certstest.Spec{}), "unknown": mint(certstest.Spec{Key: stranger}), "unknown and expired": mint(certstest.Spec{Key: stranger, NotAfter: time.Now().Add(-time.Hour)}),
		} {
			test := both("key turned away, "+name+", "+string(turned), cert, verdict{code, []string{judged, "sha256:"}})
			test.trust = trust
			tests = append(tests, test)
		}
	}
	return tests
}

func (h handshake) play(t *testing.T, run carrier, dialing bool, want verdict) {
	trust := func() certs.Trust { return h.trust }
	now := func() time.Time { return h.now }
	told := make(chan *certs.Error, 1)
	server, client := certstest.Hostile(h.cert), certstest.Hostile(h.cert)
	if dialing {
		client = certs.LinkClient(us, judged, trust, now, certs.Call{})
	} else {
		server = certs.LinkServer(us, trust, now, func(_ context.Context, e *certs.Error) { told <- e })
	}
	got := run(t, server, client, dialing, told)
	checkVerdict(t, got.err, want)
	if want.code == "" {
		checkAccepted(t, h.cert, got)
		return
	}
	if got.read != "" {
		t.Errorf("read %q from a refused peer", got.read)
	}
	checkNothingLeaks(t, got.other)
}

func checkVerdict(t *testing.T, err error, want verdict) {
	t.Helper()
	if want.code == "" {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	refusal, ok := errors.AsType[*certs.Error](err)
	if !ok || refusal.Code != want.code {
		t.Fatalf("got %v, want %s", err, want.code)
	}
	for _, word := range want.words {
		if !strings.Contains(refusal.Detail, word) {
			t.Errorf("%q does not say %q", refusal.Detail, word)
		}
	}
}

func checkAccepted(t *testing.T, cert *tls.Certificate, got outcome) {
	t.Helper()
	if got.read != secret {
		t.Errorf("read %q", got.read)
	}
	if got.state.DidResume || got.state.Version != tls.VersionTLS13 || got.state.NegotiatedProtocol != certs.ALPN {
		t.Errorf("resumed %v, version %x, protocol %q", got.state.DidResume, got.state.Version, got.state.NegotiatedProtocol)
	}
	hub, pin := certs.PeerOf(got.state)
	if want, _ := peers.HubOf(pin); hub != want || hub == "" {
		t.Errorf("peer %q with the key of %q", hub, want)
	}
	if cert == nil {
		t.Error("accepted nobody")
	}
}

// checkNothingLeaks looks at what the refused side was told.
func checkNothingLeaks(t *testing.T, other error) {
	t.Helper()
	if other == nil {
		t.Fatal("the refused side was told nothing")
	}
	for _, word := range []string{"sha256", "example", "hub", "peer ", "pin", "valid from", "valid until"} {
		if strings.Contains(other.Error(), word) {
			t.Errorf("the refused side was told %q", other)
		}
	}
	if remote, ok := errors.AsType[*quic.TransportError](other); ok && (!remote.Remote || remote.ErrorMessage != "") {
		t.Errorf("the refused side was told %+v", remote)
	}
}

// outcome is what the judging side ended with, and the other side's error.
type outcome struct {
	err   error
	read  string
	state tls.ConnectionState
	other error
}

// carrier runs one handshake. The hostile side sends the secret as soon as it
// can; the judging side reads it if it can.
type carrier func(t *testing.T, server, client *tls.Config, dialing bool, told <-chan *certs.Error) outcome

func overTCP(t *testing.T, server, client *tls.Config, dialing bool, _ <-chan *certs.Error) outcome {
	left, right := tcpPair(t)
	deadline := time.Now().Add(10 * time.Second)
	_ = left.SetDeadline(deadline)
	_ = right.SetDeadline(deadline)
	judge, hostile := tls.Server(left, server), tls.Client(right, client)
	if dialing {
		judge, hostile = hostile, judge
	}
	other := make(chan error, 1)
	go func() { other <- hostileTalk(hostile, hostile.Handshake) }()
	got := outcome{err: judge.Handshake()}
	buf := make([]byte, len(secret))
	n, _ := io.ReadFull(judge, buf)
	got.read, got.state = string(buf[:n]), judge.ConnectionState()
	_ = judge.Close()
	_ = left.Close()
	got.other = <-other
	_ = right.Close()
	return got
}

// tcpPair is loopback and not a pipe: a pipe holds nothing, so that an alert
// could not pass a peer that is writing itself.
func tcpPair(t *testing.T) (left, right net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	right, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	left, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return left, right
}

// hostileTalk writes beside reading, as a peer does that does not wait to be
// accepted.
func hostileTalk(conn io.ReadWriteCloser, greet func() error) error {
	if err := greet(); err != nil {
		return err
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(conn, secret)
	}()
	_, err := io.ReadAll(conn)
	_ = conn.Close()
	<-written
	return err
}

func overQUIC(t *testing.T, server, client *tls.Config, dialing bool, told <-chan *certs.Error) outcome {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ours, theirs := quicTransport(t), quicTransport(t)
	ln, err := ours.Listen(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dial := func() (*quic.Conn, error) { return theirs.Dial(ctx, ln.Addr(), client, nil) }
	if dialing {
		return quicDialing(ctx, ln, dial)
	}
	return quicAccepting(ctx, ln, dial, told)
}

func quicTransport(t *testing.T) *quic.Transport {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	transport := &quic.Transport{Conn: socket}
	t.Cleanup(func() {
		_ = transport.Close()
		_ = socket.Close()
	})
	return transport
}

func quicDialing(ctx context.Context, ln *quic.Listener, dial func() (*quic.Conn, error)) outcome {
	other := make(chan error, 1)
	accepting, stop := context.WithCancel(ctx)
	go func() {
		conn, err := ln.Accept(accepting)
		if err == nil {
			err = quicTalk(ctx, conn)
		}
		other <- err
	}()
	conn, err := dial()
	if err != nil {
		stop() // the hostile server learns of the refusal by an alert, which its Accept does not show
		<-other
		return outcome{err: err, other: errAlertOnly}
	}
	got := quicRead(ctx, conn)
	stop()
	got.other = <-other
	return got
}

// errAlertOnly stands for an alert that a server's Accept does not show.
var errAlertOnly = errors.New("alert")

func quicAccepting(ctx context.Context, ln *quic.Listener, dial func() (*quic.Conn, error), told <-chan *certs.Error) outcome {
	other := make(chan error, 1)
	go func() {
		conn, err := dial()
		if err == nil {
			err = quicTalk(ctx, conn)
		}
		other <- err
	}()
	accepted := make(chan *quic.Conn)
	accepting, stop := context.WithCancel(ctx)
	go func() {
		defer close(accepted)
		if conn, err := ln.Accept(accepting); err == nil {
			accepted <- conn
		}
	}()
	defer stop()
	select {
	case refusal := <-told:
		got := outcome{err: refusal, other: <-other}
		stop()
		if conn := <-accepted; conn != nil {
			got.read = "a whole connection"
		}
		return got
	case conn := <-accepted:
		if conn == nil {
			return outcome{err: ctx.Err(), other: <-other}
		}
		got := quicRead(ctx, conn)
		got.other = <-other
		return got
	}
}

func quicTalk(ctx context.Context, conn *quic.Conn) error {
	defer func() { _ = conn.CloseWithError(0, "") }()
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	return hostileTalk(stream, func() error { return nil })
}

func quicRead(ctx context.Context, conn *quic.Conn) outcome {
	defer func() { _ = conn.CloseWithError(0, "") }()
	got := outcome{state: conn.ConnectionState().TLS}
	stream, err := conn.AcceptStream(ctx)
	if err != nil {
		got.err = err
		return got
	}
	buf := make([]byte, len(secret))
	n, _ := io.ReadFull(stream, buf)
	got.read = string(buf[:n])
	return got
}

// malleate returns the certificate with the other of the two ECDSA signatures
// that are valid for one content: other bytes, same key, same meaning.
func malleate(t *testing.T, cert *tls.Certificate) *tls.Certificate {
	t.Helper()
	var outer struct {
		TBS, Algorithm asn1.RawValue
		Signature      asn1.BitString
	}
	var sig struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(cert.Certificate[0], &outer); err != nil {
		t.Fatal(err)
	}
	if _, err := asn1.Unmarshal(outer.Signature.Bytes, &sig); err != nil {
		t.Fatal(err)
	}
	key := cert.PrivateKey.(*ecdsa.PrivateKey)
	sig.S.Sub(key.Params().N, sig.S)
	bytes, err := asn1.Marshal(sig)
	if err != nil {
		t.Fatal(err)
	}
	outer.Signature = asn1.BitString{Bytes: bytes, BitLength: 8 * len(bytes)}
	der, err := asn1.Marshal(outer)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func withExtra(cert, extra *tls.Certificate) *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{cert.Certificate[0], extra.Certificate[0]}, PrivateKey: cert.PrivateKey}
}

func mustKey() *ecdsa.PrivateKey {
	key, err := certstest.NewKey()
	if err != nil {
		panic(err)
	}
	return key
}

func mustIdentity(s certstest.Spec) *certs.Identity {
	id, err := certstest.Identity(s)
	if err != nil {
		panic(err)
	}
	return id
}
