package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"fleetrelay/certs"
	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

// peer looks at everything between this node and one peer.
func (r *Report) peer(ctx context.Context, o Options, id *certs.Identity, s node.Status) {
	p, known := r.who(o.Peer, s)
	if !known {
		return
	}
	for _, endpoint := range p.Endpoints {
		r.endpoint(ctx, o, id, p, endpoint)
	}
	if len(p.Endpoints) == 0 {
		r.skip("name", p.Hub, "no endpoint is known here: it calls, and this node waits for it")
	}
	if p.By == "" {
		r.skip("link", p.Hub, "there is none before both have approved")
		return
	}
	r.link(s, p, node.Next{})
	r.facts(p)
}

// who finds the peer, or the hub whose invitation was taken, of which endpoints and key are known as well.
func (r *Report) who(hub string, s node.Status) (p node.PeerStatus, known bool) {
	if at := slices.IndexFunc(s.Peers, func(p node.PeerStatus) bool { return p.Hub == hub }); at >= 0 {
		r.ok("peer", hub, "approved by %s", s.Peers[at].By)
		return s.Peers[at], true
	}
	if at := slices.IndexFunc(s.Revoked, func(p node.RevokedPeer) bool { return p.Hub == hub }); at >= 0 {
		r.fail("peer", hub, &node.Refusal{
			Reason: wire.ReasonPeerRevoked, Text: "it was revoked here by " + s.Revoked[at].RevokedBy,
			Next: node.Command("peer", "approve", s.Revoked[at].Code, "--by", "NAME", "--may-reach", "PATTERN"),
		})
		return p, false
	}
	at := slices.IndexFunc(s.Waiting, func(w node.Pending) bool { return w.Hub == hub && (w.Joined || w.Invited) })
	if at < 0 {
		r.fail("peer", hub, &node.Refusal{Reason: wire.ReasonUnknownPeer, Text: "it is no approved hub here", Next: node.Command("peer", "list")})
		return p, false
	}
	w := s.Waiting[at]
	r.fail("peer", hub, &node.Refusal{
		Reason: wire.ReasonPeerPending, Text: "it waits for approval here",
		Next: node.Command("peer", "approve", w.Code, "--by", "NAME", "--may-reach", "PATTERN"),
	})
	return node.PeerStatus{Hub: w.Hub, Endpoints: w.Endpoints, Pins: []string{w.Pin}, Code: w.Code}, true
}

// maxSkew is how far two hubs' clocks may differ before a request with a deadline is refused.
const maxSkew = 2 * time.Second

// facts are what only a link that is up knows.
func (r *Report) facts(p node.PeerStatus) {
	offset := time.Duration(p.ClockOffsetUS) * time.Microsecond
	switch {
	case p.RTTUS == 0:
		r.skip("clock", p.Hub, "it is compared over a link")
	case offset.Abs() > maxSkew:
		r.fail("clock", p.Hub, &node.Refusal{
			Reason: wire.ReasonCheckFailed, Text: fmt.Sprintf("the two clocks are %v apart", offset.Abs().Round(time.Millisecond)),
			Next: node.Advice("set the clock that is wrong; both hubs should keep theirs by the network"),
		})
	default:
		r.ok("clock", p.Hub, "the two clocks are %v apart, the round trip is %v", shortTime(offset.Abs()), shortTime(time.Duration(p.RTTUS)*time.Microsecond))
	}
	switch {
	case p.Profile == nil:
		r.skip("profile", p.Hub, "none was agreed on so far")
	case wire.Reason(p.LinkReason) == wire.ReasonProfileMismatch:
		r.skip("profile", p.Hub, "the two sides differ, as the link says")
	default:
		r.ok("profile", p.Hub, "relay version %d, number %d%s", p.Profile.RelayVersion, p.Profile.Number, lower(p.Profile))
	}
}

// lower names the members that are lower than one side offers.
func lower(p *node.Profile) (text string) {
	for _, m := range p.Members {
		if m.Lower != "" {
			text += fmt.Sprintf("; %s is %s, by %s", m.Name, m.Value, map[string]string{"ours": "this hub", "theirs": "that hub"}[m.Lower])
		}
	}
	return text
}

// endpoint goes the way of a link: name, UDP, handshake.
func (r *Report) endpoint(ctx context.Context, o Options, id *certs.Identity, p node.PeerStatus, endpoint string) {
	addrs := r.resolve(ctx, endpoint)
	reached := false
	for _, addr := range addrs {
		reached = r.udp(ctx, addr) || reached
	}
	switch {
	case !reached:
		r.skipTLS(endpoint, "nothing answers there")
	case id == nil:
		r.skipTLS(endpoint, "this node's key could not be read")
	default:
		r.handshake(ctx, o, id, p, endpoint)
	}
}

// resolve looks the endpoint's host up.
func (r *Report) resolve(ctx context.Context, endpoint string) (addrs []string) {
	host, port, err := net.SplitHostPort(endpoint)
	var ips []netip.Addr
	if err == nil {
		ips, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	if err != nil {
		text := fmt.Sprintf("%s cannot be looked up", host)
		if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
			text = fmt.Sprintf("there is no host %s", host)
		}
		r.fail("name", endpoint, &node.Refusal{
			Reason: wire.ReasonInvalidAddress, Text: text,
			Next: node.Advice("check the name with its administrator, and this machine's resolver"), Err: err,
		})
		return nil
	}
	hosts := make([]string, len(ips))
	for i, ip := range ips {
		hosts[i] = ip.Unmap().String()
		addrs = append(addrs, net.JoinHostPort(hosts[i], port))
	}
	r.ok("name", endpoint, "its host has the address %s", strings.Join(hosts, ", "))
	return addrs
}

// udp asks whether a QUIC server answers at one address.
func (r *Report) udp(ctx context.Context, addr string) bool {
	took, err := reach(ctx, addr)
	if err == nil {
		r.ok("udp", addr, "a QUIC server answered in %v", shortTime(took))
		return true
	}
	text := fmt.Sprintf("no answer in %v: UDP is blocked on the way, or nobody listens", probePatience)
	next := node.Advice("check that the other hub runs, that its firewall lets UDP to this port in, and that this machine's lets UDP out")
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		text = "nobody listens on that UDP port"
		next = node.Advice("check the port, and that the other hub runs")
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		text = "this machine has no way there"
		next = node.Advice("check this machine's network and routes")
	}
	r.fail("udp", addr, &node.Refusal{Reason: wire.ReasonLinkLost, Text: text, Next: next})
	return false
}
