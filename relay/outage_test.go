package relay

import (
	"context"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// outages are how long nothing crosses, and mended how long after that a message that waited may take.
var outages = []time.Duration{time.Minute, 10 * time.Minute, time.Hour}

const mended = time.Second

// outage cuts the network under a link that is up, for so long, with one message waiting on each side, and returns how long
// after its end both are across.
func outage(t *testing.T, p *pair, cut func(bool), long time.Duration) time.Duration {
	t.Helper()
	if !await(time.Minute, func() bool { return p.a.link(t, beta).State == Up && p.b.link(t, alpha).State == Up }) {
		t.Fatalf("never linked: %+v", p.a.link(t, beta))
	}
	await(settledAfter, func() bool { return false })
	cut(true)
	time.Sleep(long / 2)
	p.a.send(beta, 1)
	p.b.send(alpha, 1)
	time.Sleep(long / 2)
	if p.settled() {
		t.Fatal("the network is not cut")
	}
	cut(false)
	began := time.Now()
	await(time.Minute, p.settled)
	return time.Since(began)
}

// memoryNode runs a relay on an in-memory network; who has no endpoints of the other waits for its calls.
func memoryNode(t *testing.T, n *transport.Network, s *store) *node {
	t.Helper()
	m := n.Join(transport.MemoryOptions{Hub: s.self, Pin: pinFor(s.self), Addr: string(s.self), Trust: func() certs.Trust { return s.Trust() }})
	t.Cleanup(func() { _ = m.Close() })
	return startOptions(t, Options{Core: s, Transport: m}, s)
}

// The first message is across within a second of the network's end of outage, at whatever moment between two calls it
// ends, and whether both sides can call or only one.
func TestFirstMessageAfterAnOutage(t *testing.T) {
	for _, long := range outages {
		for _, silent := range []wire.HubID{"", alpha, beta} { // who has no endpoint to call
			for range 8 {
				phase := time.Duration(rand.Int64N(int64(probeEvery)))
				synctest.Test(t, func(t *testing.T) {
					n := transport.NewNetwork()
					n.SetDelay(20 * time.Millisecond)
					a, b := newStore(alpha, beta), newStore(beta, alpha)
					for _, s := range []*store{a, b} {
						if s.self == silent {
							peer := s.Trust().Peers()[0]
							peer.Endpoints = nil
							s.setTrust(peer)
						}
					}
					p := &pair{nil, memoryNode(t, n, a), memoryNode(t, n, b)}
					defer p.stop()
					if took := outage(t, p, n.Cut, long+phase); took > mended {
						t.Errorf("after %v, silent %q: %v", long+phase, silent, took)
					}
					p.verify(t)
				})
			}
		}
	}
}

// swallow is a network of simulated packets that can be cut.
type swallow struct {
	simnet.PerfectRouter
	cut atomic.Bool
}

func (r *swallow) SendPacket(p simnet.Packet) error {
	if r.cut.Load() {
		return nil
	}
	return r.PerfectRouter.SendPacket(p)
}

// place is a hub on the simulated network, as of newPlace.
func (r *swallow) place(t *testing.T, hub wire.HubID, last byte) *place {
	t.Helper()
	id, err := certs.Create(t.TempDir(), string(hub), time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	addr := &net.UDPAddr{IP: net.IPv4(10, 0, 0, last).To4(), Port: 8877}
	sock := simnet.NewBlockingSimConn(addr, r)
	r.AddNode(addr, sock)
	return &place{id, sock}
}

// The same over QUIC with mutual TLS, packet by packet.
func TestFirstMessageAfterAnOutageOverQUIC(t *testing.T) {
	for _, long := range outages {
		synctest.Test(t, func(t *testing.T) {
			router := &swallow{}
			pa, pb := router.place(t, alpha, 1), router.place(t, beta, 2)
			a, b := newStore(alpha), newStore(beta)
			a.setTrust(pb.peer())
			b.setTrust(pa.peer())
			ra, stopA := pa.run(t, a)
			rb, stopB := pb.run(t, b)
			p := &pair{nil, &node{a, ra, stopA}, &node{b, rb, stopB}}
			defer p.stop()
			if took := outage(t, p, router.cut.Store, long+time.Duration(rand.Int64N(int64(probeEvery)))); took > mended {
				t.Errorf("after %v: %v", long, took)
			}
			p.verify(t)
		})
	}
}

// A peer that is slower to answer than the time between two calls is reached all the same.
func TestSlowPeerIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := transport.NewNetwork()
		n.SetDelay(900 * time.Millisecond)
		a, b := newStore(alpha, beta), newStore(beta, alpha)
		p := &pair{nil, memoryNode(t, n, a), memoryNode(t, n, b)}
		defer p.stop()
		p.a.send(beta, 3)
		if !await(15*time.Second, p.settled) {
			t.Errorf("%+v", p.a.link(t, beta))
		}
		await(time.Minute, func() bool { return false })
		if l := p.a.link(t, beta); l.State != Up || l.RTT.Round(time.Millisecond) != 1800*time.Millisecond {
			t.Errorf("%+v", l)
		}
		p.verify(t)
	})
}

// refusing is a transport whose every call is refused by the other side.
type refusing struct {
	transport.Memory
	calls *atomic.Int64
	times func(time.Time)
}

func (r *refusing) Dial(context.Context, transport.Target) (Conn, error) {
	r.calls.Add(1)
	r.times(time.Now())
	return nil, &transport.Error{Op: "dial", Reason: wire.ReasonCertificateRefused, Remote: true, Final: true, Err: context.Canceled}
}

func (r *refusing) Accept(ctx context.Context) (Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A peer that refuses is called after 1, 2, 4 … 300 s; each wait is journalled before it begins, and one that a restart
// interrupts goes on where it was.
func TestRefusalsAreJournalledAndResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(alpha, beta)
		defer s.close()
		var calls atomic.Int64
		var last time.Time
		tr := &refusing{calls: &calls, times: func(now time.Time) {
			if b := s.Backoff(beta); calls.Load() > 1 && (b.Attempts != uint64(calls.Load()-1) || now.UnixMicro() < b.NextUS) {
				t.Errorf("call %d at %v with %+v journalled", calls.Load(), now, b)
			}
			last = now
		}}
		run := func(long time.Duration) {
			n := startOptions(t, Options{Core: s, Transport: tr}, s)
			time.Sleep(long)
			synctest.Wait()
			if l := n.link(t, beta); l.State != Fenced || l.LastReason != wire.ReasonCertificateRefused || l.NextUS == 0 || l.Attempts == 0 {
				t.Errorf("%+v", l)
			}
			n.stop()
		}
		run(10 * time.Minute)
		if n := calls.Load(); n < 8 || n > 11 {
			t.Errorf("%d calls in ten minutes", n)
		}
		next := time.UnixMicro(s.Backoff(beta).NextUS)
		for range 5 { // restarts do not hurry it
			run(time.Second)
		}
		before := calls.Load()
		run(time.Until(next) + time.Second)
		if calls.Load() != before+1 || last.Before(next) || last.Sub(next) > 10*time.Millisecond {
			t.Errorf("%d calls, the last at %v, due at %v", calls.Load()-before, last, next)
		}
		before = calls.Load()
		run(24 * time.Hour)
		if n := calls.Load() - before; n < 24*12 || n > 24*16 {
			t.Errorf("%d calls in a day", n)
		}
	})
}

// A link that settles ends the schedule, one that does not leaves it; the refused peer's own call is taken at once.
func TestSettledLinkEndsTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := transport.NewNetwork()
		a, b := newStore(alpha, beta), newStore(beta)
		p := &pair{nil, memoryNode(t, n, a), memoryNode(t, n, b)}
		defer p.stop()
		await(5*time.Minute, func() bool { return false })
		if got := a.Backoff(beta); got.Attempts < 7 || got.Reason != wire.ReasonCertificateRefused {
			t.Fatalf("%+v", got)
		}
		b.setPeers(alpha)
		p.b.relay.PeersChanged()
		if !await(yieldTime+time.Second, func() bool { return p.a.link(t, beta).State == Up }) {
			t.Fatal("the peer's own call was not taken")
		}
		await(settledAfter/2, func() bool { return false })
		if got := a.Backoff(beta); got.Attempts == 0 {
			t.Errorf("ended by a link of %v", settledAfter/2)
		}
		await(settledAfter, func() bool { return false })
		if got := a.Backoff(beta); got.Attempts != 0 || got.NextUS != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// A peer that calls and breaks the rules again and again neither puts our own calls off nor fills our journal.
func TestBadCallsDoNotMoveTheSchedule(t *testing.T) {
	withHostileTo(t, func() *store { return newStore(beta, alpha) }, func(h *hostile, b *node) {
		h.net.made = nil // beta may dial, and nobody answers
		for range 200 {
			h.dial(nil)
			h.write(frameOf(7, good(7)))
			if why := h.bye(); why != wire.ReasonLinkProtocol {
				t.Fatalf("ended with %q", why)
			}
			_ = h.conn.Close("")
			time.Sleep(10 * time.Millisecond)
		}
		b.with(alpha, func(l *testLane) {
			if l.backoffs > 3 || l.backoff.Attempts > 3 {
				t.Errorf("%d entries, %+v", l.backoffs, l.backoff)
			}
		})
	})
}
