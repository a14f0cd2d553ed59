package transport

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

const (
	// knockBurst and knockEvery bound what is told of one host.
	knockBurst = 8
	knockEvery = 10 * time.Second
	// maxKnockHosts bounds the hosts that are told apart; beyond it all others
	// are one.
	maxKnockHosts = 256
)

// knocks tells of callers that nobody knows, not too often.
type knocks struct {
	tell func(federation.Knock)

	mu    sync.Mutex
	hosts map[string]*rate.Limiter
}

func newKnocks(tell func(federation.Knock)) *knocks {
	return &knocks{tell: tell, hosts: map[string]*rate.Limiter{}}
}

// hear tells of a refused caller, if it is one of those to be told of.
func (k *knocks) hear(e *certs.Error, host string, now time.Time) {
	if k.tell == nil || e.Code != certs.UnknownPeer || !e.Signed || !k.allow(host, now) {
		return
	}
	knock := federation.Knock{Hub: wire.HubID(e.Hub), Pin: federation.Pin(e.Pin), Host: host, Endpoints: e.Endpoints}
	if len(e.Invite) > 0 {
		knock.Invite = federation.InviteHash(e.Invite)
	}
	k.tell(knock)
}

func (k *knocks) allow(host string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.limiterLocked(host, now).AllowN(now, 1)
}

func (k *knocks) limiterLocked(host string, now time.Time) *rate.Limiter {
	if l, ok := k.hosts[host]; ok {
		return l
	}
	if len(k.hosts) >= maxKnockHosts { // those that have their whole burst again need no row
		maps.DeleteFunc(k.hosts, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= knockBurst })
	}
	if len(k.hosts) >= maxKnockHosts {
		host = otherHosts
	}
	l, ok := k.hosts[host]
	if !ok {
		l = rate.NewLimiter(rate.Every(knockEvery), knockBurst)
		k.hosts[host] = l
	}
	return l
}
