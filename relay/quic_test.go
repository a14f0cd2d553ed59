package relay

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"

	"go.uber.org/goleak"
)

// place is a hub's socket and identity on the loopback interface.
type place struct {
	id   *certs.Identity
	sock net.PacketConn
}

func newPlace(t testing.TB, hub wire.HubID) *place {
	t.Helper()
	id, err := certs.Create(t.TempDir(), string(hub), time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sock, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &place{id, sock}
}

func (p *place) peer() federation.Peer {
	return federation.Peer{
		Hub: wire.HubID(p.id.HubID()), Endpoints: []string{p.sock.LocalAddr().String()}, Pins: []federation.Pin{federation.Pin(p.id.Pin())},
	}
}

// run starts a relay over QUIC; the returned function ends it and everything under it.
func (p *place) run(t testing.TB, core Core) (*Relay, func()) {
	t.Helper()
	r := New(Options{Core: core, Identity: p.id, Socket: p.sock})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- r.Run(ctx) }()
	return r, func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
		_ = p.sock.Close()
	}
}

// eventually polls cond for at most limit of real time.
func eventually(limit time.Duration, cond func() bool) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); <-tick.C {
		if cond() {
			return true
		}
	}
	return cond()
}

func TestOverQUIC(t *testing.T) {
	defer goleak.VerifyNone(t)
	pa, pb := newPlace(t, alpha), newPlace(t, beta)
	a, b := newStore(alpha), newStore(beta)
	a.setTrust(pb.peer())
	b.setTrust(pa.peer())
	ra, stopA := pa.run(t, a)
	rb, stopB := pb.run(t, b)
	p := &pair{nil, &node{a, ra, stopA}, &node{b, rb, stopB}}
	defer a.close()
	defer b.close()
	defer stopB()
	p.a.send(beta, 5000)
	p.b.send(alpha, 5000)
	if !eventually(20*time.Second, p.settled) {
		t.Errorf("not settled: %+v %+v", ra.Links(), rb.Links())
	}
	if faults := p.faults(); len(faults) > 0 {
		t.Error(strings.Join(faults, "\n"))
	}
	if l := ra.Links()[0]; l.State != Up || l.Path == "" || l.RTT == 0 {
		t.Errorf("%+v", l)
	}
	stopA()
	said := func() bool {
		l := rb.Links()[0]
		return l.State != Up && l.LastReason == wire.ReasonHubShutdown && l.Remote
	}
	if !eventually(5*time.Second, said) {
		t.Errorf("%+v", rb.Links())
	}
}

// An endpoint that leads back to this node is named as such, and left alone.
func TestOwnEndpointOverQUIC(t *testing.T) {
	defer goleak.VerifyNone(t)
	pa, pb := newPlace(t, alpha), newPlace(t, beta)
	defer pb.sock.Close()
	a := newStore(alpha)
	peer := pb.peer()
	peer.Endpoints = []string{pa.sock.LocalAddr().String()}
	a.setTrust(peer)
	r, stop := pa.run(t, a)
	defer a.close()
	defer stop()
	if !eventually(10*time.Second, func() bool { l := r.Links(); return len(l) == 1 && l[0].LastReason == wire.ReasonSelfDial }) {
		t.Errorf("%+v", r.Links())
	}
}
