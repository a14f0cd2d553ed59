package relay

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/hub/wire"
)

// Both hubs dial at the same time, 200 times with other delays, while records wait on both sides: it ends as one link,
// the same on both sides, and stays.
func TestBothDialAtOnce(t *testing.T) {
	both := 0
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			n := newNetwork()
			n.delay = func(_ int, from wire.HubID) time.Duration { // alpha dials at 0 s, beta at 3 s: make them meet
				if from == alpha {
					return 2900*time.Millisecond + time.Duration(rnd.Int64N(int64(200*time.Millisecond)))
				}
				return time.Duration(rnd.Int64N(int64(100 * time.Millisecond)))
			}
			p := startPair(t, n, newStore(alpha, beta), newStore(beta, alpha))
			defer p.stop()
			p.a.send(beta, 50)
			p.b.send(alpha, 50)
			if !await(time.Minute, p.settled) {
				t.Errorf("seed %d: not settled", seed)
			}
			await(5*time.Second, func() bool { return false })
			dials := n.dialled()
			a, b := p.a.link(t, beta), p.b.link(t, alpha)
			if a.State != Up || b.State != Up {
				t.Errorf("seed %d: %+v\n%+v", seed, a, b)
			}
			la, lb := p.a.relay.owner(beta).live.Load(), p.b.relay.owner(alpha).live.Load()
			if la.conn.(*memConn).in != lb.conn.(*memConn).out {
				t.Errorf("seed %d: the sides hold different connections", seed)
			}
			await(5*time.Minute, func() bool { return false })
			if n.dialled() != dials {
				t.Errorf("seed %d: dialled again", seed)
			}
			if dials > 1 {
				both++
			}
			p.verify(t)
		})
	}
	if both < 50 {
		t.Errorf("only %d of 200 runs had two connections", both)
	}
}

// A peer that restarted, or lost the link without us noticing, replaces the link at once.
func TestReturningPeerReplacesTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, b := newStore(alpha, beta), newStore(beta, alpha)
		p := startPair(t, n, a, b)
		defer p.stop()
		await(time.Minute, func() bool { return p.b.link(t, alpha).State == Up })
		p.b.send(alpha, 3)
		await(time.Minute, p.settled)
		old := p.b.relay.owner(alpha).live.Load()
		// alpha's process is gone without a trace: nothing reaches beta.
		p.a.relay.owner(beta).live.Load().conn.(*memConn).vanish()
		p.a.stop()
		if l := p.b.link(t, alpha); l.State != Up {
			t.Fatalf("beta noticed: %+v", l)
		}
		began := time.Now()
		p.a = start(t, n, a, a)
		p.a.send(beta, 2)
		p.b.send(alpha, 2)
		if !await(time.Second, p.settled) {
			t.Errorf("not settled after %v", time.Since(began))
		}
		if l := p.b.link(t, alpha); l.LastReason != wire.ReasonLinkReplaced || l.Generation != 2 {
			t.Errorf("%+v", l)
		}
		if <-old.done; old.ending().reason != wire.ReasonLinkReplaced {
			t.Errorf("%+v", old.ending())
		}
		p.verify(t)
	})
}
