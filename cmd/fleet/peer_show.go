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
				known, err := c.Peers(ctx)
				if err != nil {
					return err
				}
				if at := slices.IndexFunc(known.Peers, func(p node.PeerStatus) bool { return p.Hub == args[0] }); at >= 0 {
					return a.print(known.Peers[at], func(w io.Writer) error { return writePeer(w, known.Peers[at]) })
				}
				at := slices.IndexFunc(known.Revoked, func(p node.RevokedPeer) bool { return p.Hub == args[0] })
				if at < 0 {
					return node.NoPeer(args[0])
				}
				return a.print(known.Revoked[at], func(w io.Writer) error { return writeRevoked(w, known.Revoked[at]) })
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
	t.row("endpoints", endpointsText(p.Endpoints))
	t.row("code", p.Code)
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
	if p.LinkRevokedUS > 0 {
		t.row("revoked", "there, as that hub said at "+clock(p.LinkRevokedUS)+"; no link has been up since")
	}
	if p.RTTUS > 0 {
		t.row("round trip", shortTime(p.RTTUS)+", "+clockText(p.ClockOffsetUS))
	}
	writeProfile(&t, p)
	t.row("to send", fmt.Sprintf("%d (%d accepted, %d held there, %d refused there)",
		p.OutHead-p.OutAcked, p.OutHead, p.OutAcked-p.OutRefused, p.OutRefused))
	t.row("received", fmt.Sprintf("%d", p.In))
	return t.err
}

// writeProfile is what the link admits, and why a member is lower than one side offers.
func writeProfile(t *table, p node.PeerStatus) {
	if p.Profile == nil {
		return
	}
	number := "not agreed on"
	if p.Profile.Number > 0 {
		number = fmt.Sprintf("number %d", p.Profile.Number)
	}
	t.row("profile", fmt.Sprintf("relay version %d, %s, digest %.16s", p.Profile.RelayVersion, number, p.Profile.Digest))
	for _, m := range p.Profile.Members {
		text := m.Name + " " + m.Value
		if m.Lower != "" {
			text += fmt.Sprintf(": lower %s (ours %s, theirs %s)", map[string]string{"ours": "here", "theirs": "there"}[m.Lower], m.Ours, m.Theirs)
		}
		t.row("", text)
	}
	if len(p.Profile.Unknown) > 0 {
		t.row("", "offered there and unknown here: "+strings.Join(p.Profile.Unknown, ", "))
	}
	if p.HeldSeq > 0 {
		t.row("", fmt.Sprintf("record %d of the lane does not fit and waits", p.HeldSeq))
	}
}

// clockText says how far a peer's clock is from ours.
func clockText(us int64) string {
	if us < 0 {
		return "its clock is " + shortTime(-us) + " behind"
	}
	return "its clock is " + shortTime(us) + " ahead"
}

// shortTime is a time of so many microseconds in milliseconds.
func shortTime(us int64) string { return fmt.Sprintf("%.1f ms", float64(us)/1000) }

// writeRevoked is a peer that was: what is held for it, and how it comes back.
func writeRevoked(w io.Writer, p node.RevokedPeer) error {
	t := table{w: w}
	t.row("hub", p.Hub)
	t.row("code", p.Code)
	for _, pin := range p.Pins {
		t.row("pin", pin)
	}
	t.row("could reach", strings.Join(p.MayReach, ", "))
	t.row("approved", fmt.Sprintf("by %s (user %s) at %s", p.By, p.User, clock(p.AddedUS)))
	t.row("revoked", fmt.Sprintf("by %s (user %s) at %s", p.RevokedBy, p.RevokedUser, clock(p.RevokedUS)))
	if p.Why != "" {
		t.row("why", p.Why)
	}
	t.row("held", fmt.Sprintf("%d, until it is approved again", p.OutHead-p.OutAcked))
	t.row("received", number(p.In))
	return t.err
}
