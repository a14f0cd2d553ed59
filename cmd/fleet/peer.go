package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
	"fleetrelay/relay"
)

func (a *app) peerCommand() *cobra.Command {
	return groupCommand("peer", "Hubs of other organisations", a.peerAddCommand(), a.peerListCommand(), a.peerShowCommand())
}

// peerLine is one peer on one line.
func peerLine(p node.PeerStatus) string {
	link := linkWord(p)
	if p.LinkReason != "" {
		link += " (" + p.LinkReason + ")"
	}
	text := fmt.Sprintf("%s  link %s, to send %d, taken %d", p.Hub, link, p.OutHead-p.OutAcked, p.OutAcked-p.OutRefused)
	if p.OutRefused > 0 {
		text += fmt.Sprintf(", refused %d", p.OutRefused)
	}
	return text + fmt.Sprintf(", received %d", p.In)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// linkWord is the state of the link, which a stopped node has none of.
func linkWord(p node.PeerStatus) string {
	if p.Link == "" {
		return "not running"
	}
	return p.Link
}

// linkMeaning says what a state of the link means, "" where the word says it.
func linkMeaning(p node.PeerStatus) string {
	next := ""
	if p.LinkNextUS != 0 {
		next = "; dialled again at " + clock(p.LinkNextUS)
	}
	switch relay.State(p.Link) {
	case relay.Waiting:
		if p.LinkReason == "" {
			return "no link yet: the other hub dials first, then this one" + next
		}
		return "time may mend it" + next
	case relay.Fenced:
		return "an administrator has to settle it, here or there; what is sent meanwhile waits" + next
	case relay.Dialling, relay.Greeting:
		return "a connection is being made"
	}
	return ""
}

// reasonMeaning says why a link is down and what to do.
func reasonMeaning(p node.PeerStatus) (why, next string) {
	reason := wire.Reason(p.LinkReason)
	switch {
	case reason == wire.ReasonCertificateRefused, reason == wire.ReasonUnknownPeer && p.LinkRemote:
		return p.Hub + " has not added this hub yet, or with another pin",
			"have its administrator add this hub with the pin that fleet status shows here; the link then comes up by itself"
	case reason == wire.ReasonPinMismatch && p.LinkRemote:
		return p.Hub + " has added this hub with another pin", "have its administrator compare the pin with the one that fleet status shows here"
	}
	if reason == wire.ReasonLinkLost && p.LinkAttempts > 0 {
		return "no connection to " + p.Endpoint, "check the endpoint, its UDP port and the network between, if this lasts; it is dialled again by itself"
	}
	info, _ := wire.Explain(reason)
	return strings.TrimSuffix(info.Meaning, "."), strings.TrimSuffix(info.Next, ".")
}
