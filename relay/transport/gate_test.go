package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

func host(n int) net.Addr {
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 4242))
}

func TestGate(t *testing.T) {
	g := newGate(8)
	ctx, end := context.WithCancel(t.Context())
	var inside []*attempt
	enter := func(n int) error {
		got, err := g.enter(ctx, host(n))
		if err == nil {
			inside = append(inside, attemptOf(got))
		}
		return err
	}
	for i := range 2 {
		if g.mustProve(host(i)) {
			t.Errorf("caller %d must prove its address", i)
		}
		if err := enter(1); err != nil {
			t.Fatal(err)
		}
	}
	if !g.mustProve(host(9)) {
		t.Error("a quarter is inside and nobody must prove an address")
	}
	for range 2 {
		if err := enter(1); err != nil {
			t.Fatal(err)
		}
	}
	if err := enter(1); !errors.Is(err, errFull) {
		t.Errorf("one host took more than half: %v", err)
	}
	for i := range 4 {
		if err := enter(2 + i); err != nil {
			t.Fatal(err)
		}
	}
	if err := enter(99); !errors.Is(err, errFull) {
		t.Errorf("a ninth got in: %v", err)
	}
	inside[0].leave()
	inside[0].leave()
	if err := enter(99); err != nil {
		t.Errorf("a free place was not given: %v", err)
	}
	if err := enter(98); !errors.Is(err, errFull) {
		t.Errorf("one place was given back twice: %v", err)
	}
	end()
	for _, a := range inside {
		a.leave() // whichever comes first, this or the context's end
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside != 0 || len(g.hosts) != 0 {
		t.Errorf("%d are still inside, from %v", g.inside, g.hosts)
	}
}

// TestHosts: what counts as one host.
func TestHosts(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.7:1": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[::1]:1": "::1", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::", "[fe80::1%eth0]:1": "fe80::",
	} {
		if got := addrOf(net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr))); got.String() != want {
			t.Errorf("%s counts as %s, want %s", addr, got, want)
		}
	}
	if got := addrOf(&net.TCPAddr{}); got.IsValid() {
		t.Errorf("another kind of address counts as %s", got)
	}
}

// TestKnockHostsAreBounded knocks from ever new hosts.
func TestKnockHostsAreBounded(t *testing.T) {
	told := 0
	k := newKnocks(func(federation.Knock) { told++ })
	now := time.Unix(1_800_000_000, 0)
	e := &certs.Error{Code: certs.UnknownPeer, Signed: true}
	for i := range 10_000 {
		k.hear(e, host(i).String(), now)
	}
	if len(k.hosts) > maxKnockHosts+1 || told != maxKnockHosts+knockBurst {
		t.Errorf("%d hosts are remembered, %d knocks were told of", len(k.hosts), told)
	}
	now = now.Add(knockBurst * knockEvery)
	k.hear(e, "fresh", now)
	if len(k.hosts) != 1 || told != maxKnockHosts+knockBurst+1 {
		t.Errorf("%d hosts are remembered later, %d knocks were told of", len(k.hosts), told)
	}
	for i := range 100 { // a second each
		k.hear(e, "fresh", now.Add(time.Duration(i)*time.Second))
	}
	if more := told - maxKnockHosts - knockBurst - 1; more != knockBurst-1+9 {
		t.Errorf("%d more were told of in 100 s", more)
	}
	for _, other := range []*certs.Error{{Code: certs.UnknownPeer}, {Code: certs.PinMismatch, Signed: true}, {Code: certs.PeerRejected, Signed: true}} {
		before := told
		if k.hear(other, "elsewhere", now); told != before {
			t.Errorf("told of %v", other)
		}
	}
	newKnocks(nil).hear(e, "h", now)
}

// TestRefusalsAreBounded refuses from ever new hosts and looks at the log and
// at what is remembered.
func TestRefusalsAreBounded(t *testing.T) {
	var log bytes.Buffer
	r := newRefusals(slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Unix(1_800_000_000, 0)
	for i := range 10_000 {
		r.note(refusal{reason: wire.ReasonUnknownPeer, host: host(i).String()}, now)
	}
	if len(r.rows) > maxRefusals+1 {
		t.Errorf("%d rows", len(r.rows))
	}
	if lines := strings.Count(log.String(), "\n"); lines != maxRefusals+1 {
		t.Errorf("%d lines", lines)
	}
	if r.counts()[wire.ReasonUnknownPeer] != 10_000 {
		t.Errorf("counted %v", r.counts())
	}
	log.Reset()
	now = now.Add(refusalInterval)
	r.note(refusal{reason: wire.ReasonUnknownPeer, host: "fresh"}, now)
	if len(r.rows) != 1 || !strings.Contains(log.String(), "remote=fresh") {
		t.Errorf("%d rows, logged %s", len(r.rows), log.String())
	}
}

func TestRefusalsAreHeldBack(t *testing.T) {
	var log bytes.Buffer
	r := newRefusals(slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Unix(1_800_000_000, 0)
	for i := range 121 {
		r.note(refusal{reason: wire.ReasonPinMismatch, host: "h"}, now.Add(time.Duration(i)*time.Second))
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, held := range []int{0, 59, 59} {
		if i >= len(lines) || !strings.Contains(lines[i], fmt.Sprintf("held_back=%d", held)) {
			t.Fatalf("line %d of\n%s", i, log.String())
		}
	}
	r.note(refusal{reason: wire.ReasonUnknownPeer, host: "h"}, now)
	if !strings.Contains(log.String(), "unknown_peer") {
		t.Error("another cause of the same host was held back")
	}
}

// TestCodesAreStable holds the numbers that cross the wire.
func TestCodesAreStable(t *testing.T) {
	want := []wire.Reason{
		"link_lost", "hub_shutdown", "link_replaced", "link_duplicate", "rewound", "cloned", "relay_version", "link_protocol",
		"frame_too_large", "self_dial", "unknown_peer", "pin_mismatch", "wrong_hub_id", "internal_error", "journal_failed",
		"malformed_json", "slow_reader",
	}
	for code, reason := range want {
		if got := reasonOf(quic.ApplicationErrorCode(code)); got != reason {
			t.Errorf("code %d is %s, was %s", code, got, reason)
		}
		if got := codeOf(reason); got != quic.ApplicationErrorCode(code) {
			t.Errorf("%s crosses as %d, did as %d", reason, got, code)
		}
		if _, known := wire.Explain(reason); !known {
			t.Errorf("%s is not in the list of reasons", reason)
		}
	}
	for _, code := range []quic.ApplicationErrorCode{quic.ApplicationErrorCode(len(closeReasons)), 1 << 61} {
		if got := reasonOf(code); got != wire.ReasonLinkLost {
			t.Errorf("unknown code %d is %s", code, got)
		}
	}
}

func TestClassify(t *testing.T) {
	alert := func(n int, remote bool) error {
		return &quic.TransportError{ErrorCode: firstCryptoError + quic.TransportErrorCode(n), Remote: remote}
	}
	tests := map[string]struct {
		err    error
		reason wire.Reason
		final  bool
	}{
		"idle":                 {&quic.IdleTimeoutError{}, wire.ReasonLinkLost, false},
		"handshake timeout":    {&quic.HandshakeTimeoutError{}, wire.ReasonLinkLost, false},
		"reset":                {&quic.StatelessResetError{}, wire.ReasonLinkLost, false},
		"refused":              {&quic.TransportError{ErrorCode: quic.ConnectionRefused, Remote: true}, wire.ReasonLinkLost, false},
		"violation":            {&quic.TransportError{ErrorCode: quic.ProtocolViolation}, wire.ReasonLinkProtocol, false},
		"version":              {&quic.VersionNegotiationError{}, wire.ReasonRelayVersion, false},
		"no protocol name":     {alert(120, true), wire.ReasonRelayVersion, false},
		"bad certificate":      {alert(42, true), wire.ReasonCertificateRefused, true},
		"certificate required": {alert(116, true), wire.ReasonCertificateRefused, true},
		"proof refused":        {alert(51, true), wire.ReasonCertificateRefused, true},
		"proof wrong":          {alert(51, false), wire.ReasonLinkProtocol, true},
		"other alert":          {alert(80, true), wire.ReasonLinkProtocol, false},
		"cancelled":            {context.Canceled, wire.ReasonLinkLost, false},
		"anything":             {errors.New("x"), wire.ReasonLinkLost, false},
	}
	for name, test := range tests {
		e := classify("dial", fmt.Errorf("wrapped: %w", test.err))
		if e.Reason != test.reason || e.Final != test.final || !errors.Is(e, test.err) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
