package node

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// maxEndpoints bounds where one hub says it is reached.
const maxEndpoints = 8

// checkAnnounce holds that each endpoint is one that another hub can dial.
func checkAnnounce(endpoints []string) error {
	if len(endpoints) > maxEndpoints {
		return fmt.Errorf("%d endpoints are more than %d", len(endpoints), maxEndpoints)
	}
	for _, e := range endpoints {
		host, port, err := net.SplitHostPort(e)
		if err != nil || host == "" || !portNumber(port) {
			return fmt.Errorf("%q is not HOST:PORT", e)
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			return fmt.Errorf("%q is no address that another machine can dial", e)
		}
	}
	return nil
}

// Announced is where this node tells other hubs to reach it.
type Announced struct {
	Endpoints []string `json:"endpoints"`
	// Warning says what is likely to keep other hubs from reaching them, "" if nothing is known.
	Warning string `json:"warning,omitzero"`
}

// announced are the endpoints an invitation names unless the operator gives others: those of the settings, the links
// address if its host is a particular one, else the machine's own addresses.
func (n *Node) announced() Announced {
	links := n.cfg.Links
	if s := n.serving.Load(); s != nil {
		links = s.links.LocalAddr().String()
	}
	if len(n.cfg.Announce) > 0 {
		return announce(n.cfg.Announce, links, nil)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		n.log.Warn("this machine's addresses cannot be read", "error", err)
	}
	return announce(nil, links, addrs)
}

// announce is announced with what it depends on.
func announce(configured []string, links string, machine []net.Addr) Announced {
	a := Announced{Endpoints: configured}
	host, port, err := net.SplitHostPort(links)
	ip := net.ParseIP(host)
	switch {
	case len(configured) > 0 || err != nil:
	case host != "" && (ip == nil || !ip.IsUnspecified()):
		a.Endpoints = []string{links}
	default:
		a.Endpoints = globalAddrs(machine, port, host == "0.0.0.0")
	}
	if len(a.Endpoints) == 0 {
		a.Endpoints = []string{net.JoinHostPort("127.0.0.1", port)}
	}
	a.Warning = outOfReach(a.Endpoints, "set announce in "+ConfigFile+" to")
	return a
}

// outOfReach says why others may not reach these endpoints, "" if nothing is known; mend is how another address is given.
func outOfReach(endpoints []string, mend string) string {
	switch {
	case nobodyElse(endpoints):
		return "The endpoints are of this machine only, so no hub on another one can call; " + mend + " the address that others reach."
	case withinOnly(endpoints):
		return "The endpoints are private addresses, so only hubs in the same network can call; " + mend + " the address that others reach."
	}
	return ""
}

// globalAddrs are the machine's addresses that others may reach, public ones first, IPv4 before IPv6 as more networks
// carry it.
func globalAddrs(machine []net.Addr, port string, only4 bool) (endpoints []string) {
	var ips []netip.Addr
	for _, a := range machine {
		p, err := netip.ParsePrefix(a.String())
		if ip := p.Addr().Unmap(); err == nil && ip.IsGlobalUnicast() && (ip.Is4() || !only4) {
			ips = append(ips, ip)
		}
	}
	rank := func(ip netip.Addr) int {
		r := 0
		if ip.IsPrivate() {
			r = 2
		}
		if ip.Is6() {
			r++
		}
		return r
	}
	slices.SortStableFunc(ips, func(a, b netip.Addr) int { return cmp.Compare(rank(a), rank(b)) })
	for _, ip := range ips[:min(len(ips), maxEndpoints)] {
		endpoints = append(endpoints, net.JoinHostPort(ip.String(), port))
	}
	return endpoints
}

// nobodyElse says that every endpoint is this machine itself.
func nobodyElse(endpoints []string) bool {
	return !slices.ContainsFunc(endpoints, func(e string) bool { return !loopback(e) })
}

// withinOnly says that every endpoint is an address of a private network. A name may be anything.
func withinOnly(endpoints []string) bool {
	return !slices.ContainsFunc(endpoints, func(e string) bool {
		ap, err := netip.ParseAddrPort(e)
		return err != nil || !(ap.Addr().IsPrivate() || ap.Addr().IsLoopback())
	})
}

func portNumber(s string) bool {
	p, err := strconv.ParseUint(s, 10, 16)
	return err == nil && p > 0
}
