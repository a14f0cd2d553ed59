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

func (a *app) peerRevokeCommand() *cobra.Command {
	var in node.Revocation
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "revoke HUB --by NAME",
		Short: "End the approval of a hub",
		Long: `End the approval of a hub: its link ends within a second, its keys are refused by name, and nothing passes to or from it.
What waits for it is held until it is approved again.`,
		Example: `  fleet peer revoke partner.example --by 'Dana Ito' --why 'contract ended' --dry-run
  fleet peer revoke partner.example --by 'Dana Ito' --why 'contract ended'`,
		Args: one("one hub id"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if in.Hub = args[0]; strings.TrimSpace(in.By) == "" {
				return usage("--by says who decides; it may not be empty")
			}
			return a.connect(ctx, func(c *node.Client) error {
				if dryRun {
					return a.wouldRevoke(ctx, c, in.Hub)
				}
				row, err := c.Revoke(ctx, in)
				if err != nil {
					return err
				}
				return a.print(row, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "revoked %s; held for it: %d\n", row.Hub, row.OutHead-row.OutAcked)
					return err
				})
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&in.By, "by", "", "who decides")
	f.StringVar(&in.Why, "why", "", "the reason, kept for good")
	f.BoolVar(&dryRun, "dry-run", false, "show the peer and revoke nothing")
	must(cmd.MarkFlagRequired("by"))
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) wouldRevoke(ctx context.Context, c *node.Client, hub string) error {
	known, err := c.Peers(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(known.Peers, func(p node.PeerStatus) bool { return p.Hub == hub })
	if at < 0 {
		return node.NoPeer(hub)
	}
	return a.print(known.Peers[at], func(w io.Writer) error { return writePeer(w, known.Peers[at]) })
}
