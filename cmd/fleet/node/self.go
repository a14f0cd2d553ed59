package node

import (
	"net"
	"slices"
	"strings"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// notSelf refuses this node's own key and, where it can be told, its own address.
func (n *Node) notSelf(pin federation.Pin, endpoints []string) error {
	if certs.Pin(pin) == n.identity.Pin() {
		return &Refusal{Reason: wire.ReasonOwnPin, Text: certs.Pin(pin).String() + " is the pin of this node", Next: Advice("give the pin that the other hub's administrator reads from its own status")}
	}
	links := n.cfg.Links
	if s := n.serving.Load(); s != nil {
		links = s.links.LocalAddr().String()
	}
	at := slices.IndexFunc(endpoints, func(e string) bool { return sameListener(e, links) })
	if at < 0 {
		return nil
	}
	return &Refusal{Reason: wire.ReasonSelfDial, Text: "the endpoint " + endpoints[at] + " is this node's own links address", Next: Advice("give the address and UDP port of the other hub's node")}
}

// sameListener says whether an endpoint leads to a listener of this machine. A name is not looked up, except localhost.
func sameListener(endpoint, listener string) bool {
	host, port, err := net.SplitHostPort(endpoint)
	lhost, lport, lerr := net.SplitHostPort(listener)
	if err != nil || lerr != nil || port != lport {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	ip, bound := net.ParseIP(host), net.ParseIP(lhost)
	if ip == nil {
		return false
	}
	if bound != nil && !bound.IsUnspecified() {
		return ip.Equal(bound)
	}
	addrs, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && own.IP.Equal(ip)
	})
}
