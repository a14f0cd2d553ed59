package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerCommand() *cobra.Command {
	return groupCommand("peer", "Hubs of other organisations", a.peerAddCommand(), a.peerListCommand(), a.peerShowCommand())
}

// peerLine is one peer on one line.
func peerLine(p node.PeerStatus) string {
	link := p.Link
	if link == "" {
		link = "not running"
	}
	if p.LinkReason != "" {
		link += " (" + p.LinkReason + ")"
	}
	return fmt.Sprintf("%s  link %s, to send %d, sent %d, received %d", p.Hub, link, p.OutHead-p.OutAcked, p.OutAcked, p.In)
}
