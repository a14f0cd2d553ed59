package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerApproveCommand() *cobra.Command {
	var in node.Approval
	cmd := &cobra.Command{
		Use:   "approve FINGERPRINT|CODE --by NAME --may-reach PATTERN",
		Short: "Make a hub a peer: its key is trusted, and it may address some seats here",
		Long: `Approve a hub that waits: by the code that you and its administrator compared, or by the whole fingerprint of its key.
The link comes up once both sides have approved. The answer shows what the approval opens: the patterns, and the seats
known here now that they match, before and after. --dry-run only shows it.

--may-reach says which seats here that hub may address, as PROJECT/SEAT or NAME; * and ? stay within one part. Nothing
else passes, and nothing passes without one.

A key that never called is approved by its whole fingerprint when --hub is given, and --endpoint if this side is to call
it. A rejected key or a revoked hub is approved again by the same code or fingerprint.

--replace changes a peer: its patterns, and its endpoints where they are given. With --hub and another fingerprint it
changes the key. What waits for it stays; a link whose key is no longer approved ends at once.`,
		Example: `  fleet peer approve K7PM-2Q0D-9XRA-44TE --by 'Dana Ito' --may-reach 'search/*'
  fleet peer approve K7PM-2Q0D-9XRA-44TE --by 'Dana Ito' --may-reach 'search/*' --may-reach build/ci --replace
  fleet peer approve sha256:1f0e... --hub partner.example --endpoint relay.partner.example:8877 --by 'Dana Ito' --may-reach 'search/*'`,
		Args: oneKey,
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if in.Key = args[0]; strings.TrimSpace(in.By) == "" {
				return usage("--by says who compared the code or the fingerprint; it may not be empty")
			}
			return a.connect(ctx, func(c *node.Client) error {
				done, err := c.Approve(ctx, in)
				if err != nil {
					return err
				}
				if c.Running && !in.DryRun {
					if done.Peer, err = settledLink(ctx, c, done.Peer); err != nil {
						return err
					}
				}
				if err := a.print(done, func(w io.Writer) error { return writeApproved(w, done) }); err != nil || in.DryRun {
					return err
				}
				a.lead(cmd, afterApproval(c.Running, done.Peer))
				return nil
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&in.By, "by", "", "who compared the code or fingerprint and approves")
	f.StringArrayVar(&in.MayReach, "may-reach", nil, "seats here it may address; may be given again")
	f.StringVar(&in.Hub, "hub", "", "its hub id, if it never called")
	f.StringArrayVar(&in.Endpoints, "endpoint", nil, "HOST:PORT at which it is called, if not as it said; may be given again")
	f.BoolVar(&in.Replace, "replace", false, "change a peer that is approved already")
	f.BoolVar(&in.DryRun, "dry-run", false, "show what it would open and approve nothing")
	must(cmd.MarkFlagRequired("by"))
	a.jsonFlag(cmd)
	return cmd
}

// oneKey is the Args of approve. Further ones are most often patterns that stand behind one --may-reach.
func oneKey(cmd *cobra.Command, args []string) error {
	if len(args) > 1 && cmd.Flags().Changed("may-reach") {
		return usage("%s takes one fingerprint or code and got %d arguments: %s; give --may-reach again for each pattern, and put a name with spaces into quotes",
			cmd.CommandPath(), len(args), quotedList(args))
	}
	return one("one fingerprint or code")(cmd, args)
}

// Both sides approve within moments of each other, so a link that comes up is seen coming up.
const (
	linkPatience = 3 * time.Second
	linkEvery    = 50 * time.Millisecond
)

// settledLink is the peer once its link is up, or an attempt has failed, or patience is over.
func settledLink(ctx context.Context, c *node.Client, p node.PeerStatus) (node.PeerStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, linkPatience)
	defer cancel()
	again := time.NewTicker(linkEvery)
	defer again.Stop()
	for {
		known, err := c.Peers(ctx)
		if ctx.Err() != nil {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		for _, row := range known.Peers {
			if row.Hub == p.Hub {
				p = row
			}
		}
		if p.LinkUp() || p.LinkAttempts > 0 {
			return p, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return p, nil
		}
	}
}

// afterApproval is what leads on.
func afterApproval(running bool, p node.PeerStatus) node.Next {
	switch {
	case !running:
		return node.Command("serve")
	case p.LinkUp():
		return node.Command("send", "--as", "SEAT", "--to", "SEAT@"+p.Hub, "--receipt", "TEXT")
	case p.Unanswered() && len(p.Endpoints) == 0:
		return node.Advice("wait for " + p.Hub + " to call; the link comes up by itself then if it has approved the same code")
	case p.Unanswered():
		return node.Advice("nothing to do here: " + p.Hub + " does not answer for now and is called again by itself; the link comes up once it runs and has approved this hub. If this lasts, fleet doctor " + p.Hub + " looks at the way there")
	case p.WaitsThere():
		return node.Advice("have the administrator of " + p.Hub + " approve the same code; the link then comes up by itself")
	}
	return node.Command("doctor", p.Hub)
}

func writeApproved(w io.Writer, done node.Approved) error {
	t := table{w: w}
	t.row("hub", done.Peer.Hub)
	t.row("code", done.Peer.Code)
	for _, pin := range done.Peer.Pins {
		t.row("pin", pin)
	}
	t.row("endpoints", endpointsText(done.Peer.Endpoints))
	t.row("before", opened(done.Before))
	t.row("opens", opened(done.After))
	t.row("link", linkSummary(done.Peer))
	return t.err
}

// opened says what a peer may address, and which of it there is now.
func opened(o node.Opening) string {
	if len(o.Patterns) == 0 {
		return "nothing"
	}
	text := strings.Join(o.Patterns, ", ")
	switch n := len(o.Seats); {
	case n == 0:
		return text + ": no seat known here now"
	case n > maxNames:
		return fmt.Sprintf("%s: now %s and %d more", text, strings.Join(o.Seats[:maxNames], ", "), n-maxNames)
	}
	return text + ": now " + strings.Join(o.Seats, ", ")
}

// endpointsText are the endpoints of a peer on one line.
func endpointsText(all []string) string {
	if len(all) == 0 {
		return "none: it calls this hub"
	}
	return strings.Join(all, ", ")
}
