package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub"
)

func (a *app) journalReconcileCommand() *cobra.Command {
	var in node.ReconcileRequest
	cmd := &cobra.Command{
		Use:   "reconcile HUB --by NAME",
		Short: "Let the lanes with a fenced hub begin anew",
		Long: `Settle a link that is fenced as rewound or cloned: one of the two runs from an older copy of its folder, or from a
second one, and what they remember of each other's messages contradicts itself. First make sure that only one node runs
under each hub id, and restore the newest journal there is. Then both administrators run this.

Both lanes begin anew where the two still agree. What waits here goes out again, and of that the other hub may have
taken some before, which then arrives twice there; what one side believes to have got across and the other has lost is
written into both journals as lost. --dry-run shows this side's part and changes nothing.`,
		Example: `  fleet journal reconcile partner.example --by 'Dana Ito' --dry-run
  fleet journal reconcile partner.example --by 'Dana Ito'`,
		Args: one("one hub id"),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if in.Hub = args[0]; strings.TrimSpace(in.By) == "" {
				return usage("--by says who decides; it may not be empty")
			}
			return a.connect(ctx, func(c *node.Client) error {
				done, err := c.Reconcile(ctx, in)
				if err != nil {
					return err
				}
				if err := a.print(done, func(w io.Writer) error { return writeReconciled(w, done) }); err != nil {
					return err
				}
				switch {
				case in.DryRun:
					a.lead(cmd, node.Command("journal", "reconcile", in.Hub, "--by", in.By))
				case !c.Running:
					a.lead(cmd, node.Command("serve"))
				default:
					a.lead(cmd, node.Advice("have the administrator of "+in.Hub+" reconcile with this hub as well, if that was not done; the link then comes up by itself"))
				}
				return nil
			})
		}),
	}
	cmd.Flags().StringVar(&in.By, "by", "", "who decides")
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what it would do and change nothing")
	must(cmd.MarkFlagRequired("by"))
	a.jsonFlag(cmd)
	return cmd
}

func writeReconciled(w io.Writer, done hub.Reconciliation) error {
	t := table{w: w}
	t.row("hub", string(done.Peer))
	t.row("our lane", fmt.Sprintf("epoch %d, after record %d", done.Epoch, done.Base))
	t.row("again", fmt.Sprintf("%d go out again; what %s took of them before comes twice there", done.Again, done.Peer))
	t.row("its lane", fmt.Sprintf("held here up to record %d; what differs is journalled when its new epoch is taken up", done.Held))
	if done.Waits {
		t.row("", "this side was reconciled already and waits for the other")
	}
	return t.err
}
