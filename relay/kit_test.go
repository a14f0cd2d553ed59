package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/hub/wire"
)

const (
	alpha wire.HubID = "alpha.example" // the smaller id: dials at once
	beta  wire.HubID = "beta.example"
)

// node is a running relay and its core.
type node struct {
	*store
	relay *Relay
	stop  func()
}

// start runs a relay over core, which is s or something around it.
func start(t *testing.T, n *network, s *store, core Core) *node {
	t.Helper()
	return startOptions(t, Options{Core: core, Transport: memTransport{n, s.self}}, s)
}

func startOptions(t *testing.T, o Options, s *store) *node {
	t.Helper()
	r := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	return &node{s, r, func() { cancel(); <-over }}
}

// pair is two hubs that are peers, linked or about to be.
type pair struct {
	net  *network
	a, b *node
}

func startPair(t *testing.T, n *network, a, b *store) *pair {
	t.Helper()
	return &pair{n, start(t, n, a, a), start(t, n, b, b)}
}

func (p *pair) stop() {
	p.a.stop()
	p.b.stop()
	p.a.close()
	p.b.close()
	synctest.Wait()
}

// send accepts n messages and wakes the relay, as a core does after its sync.
func (n *node) send(to wire.HubID, count int) {
	n.relay.Wake(to, n.accept(to, count))
}

// settled says that both lanes are through.
func (p *pair) settled() bool {
	for _, d := range [][2]*node{{p.a, p.b}, {p.b, p.a}} {
		o := d[0].LaneOut(d[1].self)
		if o.Acked != o.Head || d[1].LaneIn(d[0].self).Seq != o.Head {
			return false
		}
	}
	return true
}

// await lets virtual time pass until cond holds, at most limit.
func await(limit time.Duration, cond func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; {
		synctest.Wait()
		if cond() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		<-tick.C
	}
}

func (p *pair) faults() []string { return append(p.a.check(p.b.store), p.b.check(p.a.store)...) }

func (p *pair) verify(t *testing.T) {
	t.Helper()
	if faults := p.faults(); len(faults) > 0 {
		t.Errorf("%s", strings.Join(faults, "\n"))
	}
}

func (n *node) link(t *testing.T, peer wire.HubID) LinkStatus {
	t.Helper()
	for _, l := range n.relay.Links() {
		if l.Peer == peer {
			return l
		}
	}
	t.Fatalf("%s shows no link to %s", n.self, peer)
	return LinkStatus{}
}
