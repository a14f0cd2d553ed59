package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"fleetrelay/certs"
	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

// peer looks at everything between this node and one peer.
func (r *Report) peer(ctx context.Context, o Options, id *certs.Identity, s node.Status) {
	at := slices.IndexFunc(s.Peers, func(p node.PeerStatus) bool { return p.Hub == o.Peer })
	if at < 0 {
		r.fail("peer", o.Peer, &node.Refusal{Reason: wire.ReasonUnknownPeer, Text: "it is no approved hub here", Next: node.Command("peer", "list")})
		return
	}
	p := s.Peers[at]
	r.ok("peer", p.Hub, "approved by %s", p.By)
	for _, endpoint := range p.Endpoints {
		r.endpoint(ctx, o, id, p, endpoint)
	}
	if len(p.Endpoints) == 0 {
		r.skip("name", p.Hub, "no endpoint is known here: it calls, and this node waits for it")
	}
	r.link(s, p, node.Next{})
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
	for _, ip := range ips {
		addrs = append(addrs, net.JoinHostPort(ip.Unmap().String(), port))
	}
	r.ok("name", endpoint, "%d addresses", len(addrs))
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
