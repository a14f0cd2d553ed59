package node

import (
	"errors"
	"net"
	"strconv"
	"syscall"

	"fleetrelay/hub/wire"
)

// lastPair bounds the search for a free pair of ports: 8876/8877, 8878/8879, …
const lastPair = 50

// FreePair returns the first pair of default addresses nobody listens on, trying ports two by two. It only looks:
// somebody may take them before serve does, which then says port_in_use.
func FreePair() (agents, links string, err error) {
	_, port, err := net.SplitHostPort(DefaultAgents)
	if err != nil {
		return "", "", err
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		return "", "", err
	}
	for i := range lastPair {
		agents = "127.0.0.1:" + strconv.Itoa(first+2*i)
		links = ":" + strconv.Itoa(first+2*i+1)
		if freeTCP(agents) && freeUDP(links) {
			return agents, links, nil
		}
	}
	return "", "", &Refusal{
		Reason: wire.ReasonPortInUse, Text: "no free pair of ports from " + DefaultAgents + " on",
		Next: Advice("name two free ports with --agents and --links"),
	}
}

func freeTCP(addr string) bool {
	l, err := net.Listen("tcp", addr)
	return err == nil && l.Close() == nil
}

func freeUDP(addr string) bool {
	c, err := net.ListenPacket("udp", addr)
	return err == nil && c.Close() == nil
}

// listenError makes the refusal for an address that cannot be bound. The next step names both addresses: the other of
// a pair that is in use is most often in use as well.
func (n *Node) listenError(key, addr string, err error) error {
	agents, links := "HOST:PORT", "HOST:PORT"
	if a, l, err := FreePair(); err == nil {
		agents, links = withHost(n.cfg.Agents, a), withHost(n.cfg.Links, l)
	}
	other := Command("serve", "--agents", agents, "--links", links)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &Refusal{
			Reason: wire.ReasonPortInUse, Text: "the " + key + " address " + addr + " is in use",
			Next: other,
		}
	}
	text := "the " + key + " address " + addr + " cannot be bound"
	if errors.Is(err, syscall.EACCES) {
		return &Refusal{Reason: wire.ReasonPermissionDenied, Text: text + " by user " + ProcessUser(), Next: other}
	}
	return &Refusal{Reason: wire.ReasonInvalidConfig, Text: text + " on this machine", Next: other, Err: err}
}

// withHost puts the host of one address before the port of another.
func withHost(host, port string) string {
	h, _, herr := net.SplitHostPort(host)
	_, p, perr := net.SplitHostPort(port)
	if err := errors.Join(herr, perr); err != nil {
		return port
	}
	return net.JoinHostPort(h, p)
}

// Shown is an address as others can use it. One that stands for every address of the machine is shown by the one that
// works from here.
func Shown(addr string) (text string, everywhere bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, false
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port), true
	}
	return addr, false
}

// Exposed says that agents reach the node from beyond this machine without TLS.
func (s Status) Exposed() bool { return !s.AgentsTLS && !loopback(s.Agents) }
