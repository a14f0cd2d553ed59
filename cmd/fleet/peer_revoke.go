package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerRevokeCommand() *cobra.Command {
	var in node.Revocation
	cmd := &cobra.Command{
		Use:   "revoke HUB --by NAME",
		Short: "End the approval of a hub",
		Long: `End the approval of a hub: its link ends within a second, its keys are refused by name, and nothing passes to or from it.
What waits for it is held until it is approved again. What it could reach is shown: an approval has to name it anew.`,
		Example: `  fleet peer revoke partner.example --by 'Dana Ito' --why 'contract ended' --dry-run
  fleet peer revoke partner.example --by 'Dana Ito' --why 'contract ended'`,
		Args: one("one hub id"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if in.Hub = args[0]; strings.TrimSpace(in.By) == "" {
				return usage("--by says who decides; it may not be empty")
			}
			return a.connect(ctx, func(c *node.Client) error {
				row, err := c.Revoke(ctx, in)
				if err != nil {
					return err
				}
				return a.print(row, func(w io.Writer) error { return writeRevocation(w, row, in.DryRun) })
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&in.By, "by", "", "who decides")
	f.StringVar(&in.Why, "why", "", "the reason, kept for good")
	f.BoolVar(&in.DryRun, "dry-run", false, "show the peer and revoke nothing")
	must(cmd.MarkFlagRequired("by"))
	a.jsonFlag(cmd)
	return cmd
}

func writeRevocation(w io.Writer, row node.RevokedPeer, dryRun bool) error {
	t := table{w: w}
	t.row("hub", row.Hub)
	t.row("code", row.Code)
	switch by := fmt.Sprintf("by %s (user %s) at %s", row.RevokedBy, row.RevokedUser, clock(row.RevokedUS)); {
	case row.Already:
		t.row("revoked", "before, "+by+"; that stays as it is")
	case dryRun:
		t.row("revoked", "no, this was a dry run")
		t.row("link", linkSummary(row.PeerStatus))
	default:
		t.row("revoked", by)
	}
	if row.Why != "" {
		t.row("why", row.Why)
	}
	t.row("could reach", strings.Join(row.MayReach, ", "))
	t.row("held", fmt.Sprintf("%d, until it is approved again", row.OutHead-row.OutAcked))
	return t.err
}
