package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show HUB",
		Short:   "One approved hub: who approved it, what it may reach, its link and lanes",
		Example: `  fleet peer show partner.example`,
		Args:    one("one hub id"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				s, err := c.Status(ctx)
				if err != nil {
					return err
				}
				at := slices.IndexFunc(s.Peers, func(p node.PeerStatus) bool { return p.Hub == args[0] })
				if at < 0 {
					return node.NoPeer(args[0])
				}
				return a.print(s.Peers[at], func(w io.Writer) error { return writePeer(w, s.Peers[at]) })
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

func writePeer(w io.Writer, p node.PeerStatus) error {
	link := linkWord(p)
	if p.LinkPath != "" {
		link += " over " + p.LinkPath
	}
	if p.LinkSince != 0 {
		link += " since " + clock(p.LinkSince)
	}
	t := table{w: w}
	t.row("hub", p.Hub)
	t.row("endpoint", p.Endpoint)
	for _, pin := range p.Pins {
		t.row("pin", pin)
	}
	t.row("may reach", strings.Join(p.MayReach, ", "))
	t.row("approved", fmt.Sprintf("by %s (user %s) at %s", p.By, p.User, clock(p.AddedUS)))
	t.row("link", link)
	if text := p.LinkMeaning(); text != "" {
		t.row("", text)
	}
	if p.LinkReason != "" {
		why, next := p.LinkWhy()
		t.row("reason", p.LinkReason+": "+why)
		if p.LinkDetail != "" {
			t.row("seen", p.LinkDetail)
		}
		t.row("next", next.String())
	}
	t.row("to send", fmt.Sprintf("%d (%d accepted, %d held there, %d refused there)",
		p.OutHead-p.OutAcked, p.OutHead, p.OutAcked-p.OutRefused, p.OutRefused))
	t.row("received", fmt.Sprintf("%d", p.In))
	return t.err
}
