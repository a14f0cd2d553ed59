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
		Next: "name them: fleet init --agents 127.0.0.1:PORT --links :PORT",
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

// listenError makes the refusal for an address that cannot be bound.
func listenError(key, addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return &Refusal{
			Reason: wire.ReasonPortInUse, Text: "the " + key + " address " + addr + " is in use",
			Next: "stop what uses it, or: fleet serve --" + key + " HOST:PORT",
		}
	}
	return &Refusal{
		Reason: wire.ReasonInvalidConfig, Text: "the " + key + " address " + addr + " cannot be bound",
		Next: "fleet serve --" + key + " HOST:PORT", Err: err,
	}
}
