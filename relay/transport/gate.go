package transport

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// gate bounds the callers whose handshake is not finished or whose connection
// is not yet accepted. It is asked before anything is allocated for a caller.
type gate struct {
	limit   int // in all
	perHost int // from one address, so that one cannot shut out the others
	proveAt int // from here on addresses must be proven, so that forged ones cannot

	mu     sync.Mutex
	inside int
	hosts  map[netip.Addr]int // only those inside, so at most limit
}

func newGate(limit int) *gate {
	return &gate{limit: limit, perHost: limit / 2, proveAt: limit / 4, hosts: map[netip.Addr]int{}}
}

var errFull = errors.New("too many handshakes at once")

// mustProve tells whether a caller must first echo a token (a Retry, for which
// nothing is kept).
func (g *gate) mustProve(net.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside >= g.proveAt
}

// enter admits a caller or refuses it. Its place is free again when the
// connection is accepted or over.
func (g *gate) enter(ctx context.Context, remote net.Addr) (context.Context, error) {
	a := &attempt{gate: g, host: addrOf(remote)}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside >= g.limit || g.hosts[a.host] >= g.perHost {
		return nil, errFull
	}
	g.inside++
	g.hosts[a.host]++
	context.AfterFunc(ctx, a.leave)
	return context.WithValue(ctx, attemptKey{}, a), nil
}

// attempt is one caller inside the gate.
type attempt struct {
	gate *gate
	host netip.Addr
	once sync.Once
}

type attemptKey struct{}

// attemptOf returns the attempt of a connection or handshake that came through
// a gate.
func attemptOf(ctx context.Context) *attempt {
	return ctx.Value(attemptKey{}).(*attempt)
}

// leave gives the place back, once.
func (a *attempt) leave() {
	a.once.Do(func() {
		g := a.gate
		g.mu.Lock()
		defer g.mu.Unlock()
		g.inside--
		if g.hosts[a.host]--; g.hosts[a.host] == 0 {
			delete(g.hosts, a.host)
		}
	})
}

// addrOf returns the address without port and zone, of IPv6 the first address of
// its /64, all of which one host may have; the zero Addr, which then counts as
// one host, for what is not UDP.
func addrOf(a net.Addr) netip.Addr {
	udp, ok := a.(*net.UDPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := udp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		return netip.PrefixFrom(ip, 64).Masked().Addr()
	}
	return ip
}
