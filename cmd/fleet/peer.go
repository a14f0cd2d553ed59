package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerCommand() *cobra.Command {
	return groupCommand("peer", "Hubs of other organisations", a.peerInviteCommand(), a.peerJoinCommand(), a.peerPendingCommand(),
		a.peerApproveCommand(), a.peerRejectCommand(), a.peerListCommand(), a.peerShowCommand(), a.peerRevokeCommand(), a.peerAddCommand())
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
	text += fmt.Sprintf(", received %d", p.In)
	if p.LinkRevokedUS > 0 {
		text += ", revoked there at " + clock(p.LinkRevokedUS)
	}
	return text
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// linkWord is the state of the link, which a stopped node has none of.
func linkWord(p node.PeerStatus) string {
	if p.Link == "" {
		return "not running"
	}
	return p.Link
}

// linkSummary is the state of the link and, if it is down, why.
func linkSummary(p node.PeerStatus) string {
	if p.WaitsThere() && p.LinkRevokedUS == 0 {
		return "not yet: " + p.Hub + " has to approve this hub as well, or has approved another key"
	}
	text := linkWord(p)
	if why, _ := p.LinkWhy(); p.LinkReason != "" {
		text += ": " + why
	}
	return text
}
