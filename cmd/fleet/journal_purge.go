package main

import (
	"context"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) journalPurgeCommand() *cobra.Command {
	var r node.PurgeRequest
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "purge --seq SEQ --why TEXT",
		Short: "Remove one message's body for good",
		Long: `Remove the body of one event for good. A tombstone keeps its digest, your user and the reason, and the chain still
verifies.`,
		Example: `  fleet journal purge --seq 42 --why 'customer data sent by mistake' --dry-run
  fleet journal purge --seq 42 --why 'customer data sent by mistake'`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if dryRun {
				return a.events(ctx, r.Seq, r.Seq, false, a.indented)
			}
			return a.connect(ctx, func(c *node.Client) error {
				if err := c.Purge(ctx, r); err != nil {
					return err
				}
				a.say("purged the body of event %d\n", r.Seq)
				return nil
			})
		}),
	}
	f := cmd.Flags()
	f.Uint64Var(&r.Seq, "seq", 0, "the event")
	f.StringVar(&r.Why, "why", "", "the reason, kept for good")
	f.BoolVar(&dryRun, "dry-run", false, "show the event and purge nothing")
	must(cmd.MarkFlagRequired("seq"))
	must(cmd.MarkFlagRequired("why"))
	return cmd
}
