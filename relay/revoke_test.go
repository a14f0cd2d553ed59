package relay

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// revoke ends the approval of a peer as an operator does.
func (n *node) revoke(peer wire.HubID) {
	n.mu.Lock()
	n.trust = n.trust.Revoke(peer, federation.Revocation{RevokedBy: "Ann"})
	n.mu.Unlock()
	n.relay.PeersChanged()
}

// A peer that is revoked hears why, nothing that it sends from then on is taken, and a second later its connection is gone
// though it does not let go of it.
func TestRevokedPeerIsCutOff(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		h.dial(nil)
		h.write(frameOf(1, good(1)))
		h.acked(1)
		b.revoke(alpha)
		synctest.Wait()
		h.write(frameOf(2, good(2)))
		if why := h.bye(); why != wire.ReasonPeerRevoked {
			t.Errorf("said goodbye with %q", why)
		}
		began := time.Now()
		for {
			beat := frame.Beat{TimeUS: 1}
			if _, err := h.conn.Write(beat.Append(nil)); err != nil || h.conn.Flush() != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took > farewellTime+10*time.Millisecond {
			t.Errorf("cut off after %v", took)
		}
		if _, err := h.conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read %v", err)
		}
		if got := b.LaneIn(alpha).Seq; got != 1 {
			t.Errorf("%d records were taken", got)
		}
		if links := b.relay.Links(); len(links) != 0 {
			t.Errorf("shown: %+v", links)
		}
	})
}

// What waits for a revoked peer is held, and goes when it is approved again, by whichever side calls.
func TestRevokedPeerResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPair(t, newNetwork(), newStore(alpha, beta), newStore(beta, alpha))
		defer p.stop()
		p.a.send(beta, 5)
		await(time.Minute, p.settled)
		p.b.revoke(alpha)
		if !await(time.Second, func() bool { return p.a.link(t, beta).LastReason == wire.ReasonPeerRevoked }) {
			t.Errorf("%+v", p.a.link(t, beta))
		}
		said := p.a.link(t, beta).RevokedUS
		p.a.send(beta, 5)
		p.b.send(alpha, 5)
		await(time.Hour, func() bool { return false })
		if p.settled() || p.b.LaneIn(alpha).Seq != 5 {
			t.Error("records crossed")
		}
		if l := p.a.link(t, beta); said == 0 || l.RevokedUS != said || p.a.Backoff(beta).RevokedUS != said {
			t.Errorf("said at %d; later: %+v, kept %+v", said, l, p.a.Backoff(beta))
		}
		p.a.stop()
		p.a = start(t, p.net, p.a.store, p.a.store)
		if !await(time.Second, func() bool { return p.a.link(t, beta).RevokedUS == said }) {
			t.Errorf("after a restart: %+v", p.a.link(t, beta))
		}
		p.b.setPeers(alpha)
		p.b.relay.PeersChanged()
		if !await(5*time.Second, p.settled) {
			t.Errorf("not settled: %+v", p.b.link(t, alpha))
		}
		if l := p.a.link(t, beta); l.RevokedUS != 0 {
			t.Errorf("with a link: %+v", l)
		}
		p.verify(t)
	})
}
