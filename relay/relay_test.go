package relay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

func TestRecordsCrossBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPair(t, newNetwork(), newStore(alpha, beta), newStore(beta, alpha))
		defer p.stop()
		p.a.send(beta, 3000) // before there is a link, and more than a window
		p.b.send(alpha, 10)
		if !await(time.Minute, p.settled) {
			t.Error("not settled")
		}
		p.b.send(alpha, 2000)
		p.a.send(beta, 1)
		if !await(time.Minute, p.settled) {
			t.Error("not settled after a wake")
		}
		p.verify(t)
		for _, l := range []LinkStatus{p.a.link(t, beta), p.b.link(t, alpha)} {
			if l.State != Up || l.InFlight != 0 || l.Generation != 1 {
				t.Errorf("%+v", l)
			}
		}
	})
}

func TestRunEndsWithAGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPair(t, newNetwork(), newStore(alpha, beta), newStore(beta, alpha))
		defer p.stop()
		await(time.Minute, func() bool { return p.b.link(t, alpha).State == Up })
		began := time.Now()
		p.a.stop()
		if took := time.Since(began); took > farewellTime/2 {
			t.Errorf("stopping took %v", took)
		}
		synctest.Wait()
		l := p.b.link(t, alpha)
		if l.State != Waiting || l.LastReason != wire.ReasonHubShutdown || !l.Remote {
			t.Errorf("the other side shows %+v", l)
		}
	})
}

// Whichever side stops, at whatever moment of the beat and with records on the way, the other one hears it, every time.
func TestEveryGoodbyeIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPair(t, newNetwork(), newStore(alpha, beta), newStore(beta, alpha))
		defer p.stop()
		sides := []**node{&p.a, &p.b}
		for i := range 20 {
			leaves, stays := sides[i%2], *sides[1-i%2]
			up := func() bool {
				return (*leaves).link(t, stays.self).State == Up && stays.link(t, (*leaves).self).State == Up
			}
			if !await(time.Minute, up) {
				t.Fatalf("stop %d: no link", i)
			}
			time.Sleep(time.Duration(i) * beatTime / 20)
			(*leaves).send(stays.self, 100)
			stays.send((*leaves).self, 100)
			(*leaves).stop()
			// It is shown once the core has taken what came before the goodbye.
			ended := await(500*time.Millisecond, func() bool { return stays.link(t, (*leaves).self).State == Waiting })
			if l := stays.link(t, (*leaves).self); !ended || l.LastReason != wire.ReasonHubShutdown || !l.Remote {
				t.Errorf("stop %d: the other side shows %+v", i, l)
			}
			*leaves = start(t, p.net, (*leaves).store, (*leaves).store)
		}
		if !await(time.Minute, p.settled) {
			t.Error("not settled")
		}
		p.verify(t)
	})
}

// A link that is cut, without a goodbye, comes back at once and carries on.
func TestLostLinkIsDialledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		var conns []*memConn
		n.made = func(_ int, c *memConn) error { conns = append(conns, c); return nil }
		p := startPair(t, n, newStore(alpha, beta), newStore(beta, alpha))
		defer p.stop()
		for i := range 20 {
			await(time.Minute, func() bool { return p.a.link(t, beta).State == Up && p.b.link(t, alpha).State == Up })
			p.a.send(beta, 7)
			conns[len(conns)-1].out.onCut()
			synctest.Wait()
			if l := p.a.link(t, beta); i == 0 && (l.State != Waiting || l.LastReason != wire.ReasonLinkLost || l.Remote) {
				t.Errorf("%+v", l)
			}
		}
		if !await(time.Minute, p.settled) {
			t.Error("not settled")
		}
		p.verify(t)
	})
}

// However long a peer cannot be reached, it is called at the rate that is documented, nothing is journalled, and it is
// found within a second.
func TestUnreachablePeerIsTriedAtTheDocumentedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.made = func(int, *memConn) error { return errUnreachable }
		p := startPair(t, n, newStore(alpha, beta), newStore(beta))
		defer p.stop()
		for range 3 {
			before := n.dialled()
			await(time.Hour, func() bool { return false })
			if dials := n.dialled() - before; dials < 5100 || dials > 5150 {
				t.Errorf("%d dials in an hour", dials)
			}
		}
		if l := p.a.link(t, beta); l.State != Unreachable || l.LastReason != wire.ReasonLinkLost || l.Attempts < 15_000 {
			t.Errorf("%+v", l)
		}
		p.a.with(beta, func(l *testLane) {
			if l.backoffs > 0 {
				t.Errorf("journalled %d times", l.backoffs)
			}
		})
		p.b.setPeers(alpha)
		p.b.relay.PeersChanged()
		n.mu.Lock()
		n.made = nil
		n.mu.Unlock()
		if !await(time.Second, func() bool { return p.a.link(t, beta).State == Up }) {
			t.Error("not linked after the network was mended")
		}
	})
}

// A hub that stopped having its peer approved ends the link within a second, and both start afresh when it is approved
// again.
func TestRevokedAndApprovedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPair(t, newNetwork(), newStore(alpha, beta), newStore(beta, alpha))
		defer p.stop()
		p.b.send(alpha, 5)
		await(time.Minute, p.settled)
		p.a.setPeers()
		p.a.relay.PeersChanged()
		if !await(time.Second, func() bool { return p.b.link(t, alpha).State == Fenced }) {
			t.Errorf("still linked: %+v", p.b.link(t, alpha))
		}
		if l := p.b.link(t, alpha); l.LastReason != wire.ReasonUnknownPeer || !l.Remote {
			t.Errorf("the other side shows %+v", l)
		}
		p.b.send(alpha, 5)
		p.a.setPeers(beta)
		p.a.relay.PeersChanged()
		if !await(time.Minute, p.settled) {
			t.Error("not settled")
		}
		p.verify(t)
	})
}

// An operator's change of the peer's keys ends a link of a key that is not among them.
func TestLinkOfAKeyNoLongerApprovedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newStore(alpha, beta)
		p := startPair(t, newNetwork(), a, newStore(beta, alpha))
		defer p.stop()
		await(time.Minute, func() bool { return p.a.link(t, beta).State == Up })
		peer, _ := a.Trust().Peer(beta)
		peer.Pins = []federation.Pin{federation.Pin(pinFor("another key"))}
		a.setTrust(peer)
		p.a.relay.PeersChanged()
		if !await(time.Second, func() bool { return p.a.link(t, beta).LastReason == wire.ReasonPinMismatch }) {
			t.Errorf("%+v", p.a.link(t, beta))
		}
	})
}

// The core answers a batch with a cursor that already covers the next one, whose refusals come with its own answer. None
// may be lost.
func TestRefusalsBehindTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newStore(alpha, beta), newStore(beta, alpha)
		a.page = 3
		b.policy = func(rec *hub.InRecord) wire.Reason {
			if rec.Origin.LaneSeq%2 == 0 {
				return wire.ReasonNotPermitted
			}
			return ""
		}
		n := newNetwork()
		p := &pair{n, start(t, n, a, a), start(t, n, b, eagerCursor{b})}
		defer p.stop()
		p.a.send(beta, 2000)
		if !await(time.Minute, p.settled) {
			t.Error("not settled")
		}
		p.verify(t)
	})
}

// eagerCursor answers with a cursor far ahead.
type eagerCursor struct{ *store }

func (e eagerCursor) Inbound(ctx context.Context, peer wire.HubID, recs []hub.InRecord, done func(hub.InboundResult)) error {
	return e.store.Inbound(ctx, peer, recs, func(res hub.InboundResult) {
		res.Cursor.Seq += 100
		done(res)
	})
}

// A new link states its cursor only when the core has answered for everything that came over the one before: otherwise
// records that are on their way into the journal would be sent and handed over again.
func TestHelloWaitsForTheCore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		var conns []*memConn
		n.made = func(_ int, c *memConn) error { conns = append(conns, c); return nil }
		a, b := newStore(alpha, beta), newStoreOf(beta, 700*time.Millisecond, 100, alpha)
		a.page = 5
		p := startPair(t, n, a, b)
		defer p.stop()
		for range 10 {
			await(time.Minute, func() bool { return p.a.link(t, beta).State == Up && p.b.link(t, alpha).State == Up })
			p.a.send(beta, 20)
			await(50*time.Millisecond, func() bool { return false })
			conns[len(conns)-1].out.onCut()
		}
		if !await(10*time.Minute, p.settled) {
			t.Error("not settled")
		}
		p.verify(t)
	})
}

// A core that will never answer keeps neither Run nor its caller.
func TestRunEndsThoughTheCoreDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPair(t, newNetwork(), newStore(alpha, beta), newStoreOf(beta, 24*time.Hour, 2, alpha))
		defer p.stop()
		p.a.send(beta, 2000)
		await(time.Minute, func() bool { return p.b.link(t, alpha).State == Up })
		began := time.Now()
		p.b.stop()
		if took := time.Since(began); took > 2*farewellTime {
			t.Errorf("stopping took %v", took)
		}
	})
}
