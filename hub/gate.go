package hub

import (
	"net/netip"
	"sync"

	"fleetrelay/hub/wire"
)

// gate counts sockets before anything of them is read (core-wire-v2 section 12).
type gate struct {
	limits Limits
	mu     sync.Mutex
	total  int
	unread int // sockets that have bound no name yet
	hosts  map[string]int
}

func newGate(l Limits) *gate { return &gate{limits: l, hosts: map[string]int{}} }

// enter admits one socket or says why not. Loopback is exempt from the bound per
// host: all local agents share it.
func (g *gate) enter(host string, secured bool) wire.Reason {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.total >= g.limits.Sockets:
		return wire.ReasonHubAtCapacity
	case !loopback(host) && g.hosts[host] >= g.limits.PerHost:
		return wire.ReasonTooManyFromHost
	case secured && g.unread >= g.limits.Unauthenticated:
		return wire.ReasonTooManyUnauthenticated
	}
	g.total++
	g.unread++
	g.hosts[host]++
	return ""
}

// bound says that one admitted socket has a name now.
func (g *gate) bound() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unread--
}

func (g *gate) leave(host string, bound bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if !bound {
		g.unread--
	}
	if g.hosts[host]--; g.hosts[host] == 0 {
		delete(g.hosts, host)
	}
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
