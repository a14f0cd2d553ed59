package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

// purged is the answer of `journal purge --json`: the body of this event is gone, for this reason.
type purged struct {
	Seq uint64 `json:"purged"`
	Why string `json:"why"`
}

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
		Args: nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			switch {
			case strings.TrimSpace(r.Why) == "":
				return usage("--why says why, for good; it may not be empty")
			case r.Seq == 0:
				return usage("--seq is the number of an event, from 1 on")
			case dryRun:
				return a.events(ctx, r.Seq, r.Seq, false, a.event)
			}
			return a.connect(ctx, func(c *node.Client) error {
				if err := c.Purge(ctx, r); err != nil {
					return err
				}
				return a.print(purged{r.Seq, r.Why}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "purged the body of event %d\n", r.Seq)
					return err
				})
			})
		}),
	}
	f := cmd.Flags()
	f.Uint64Var(&r.Seq, "seq", 0, "the event")
	f.StringVar(&r.Why, "why", "", "the reason, kept for good")
	f.BoolVar(&dryRun, "dry-run", false, "show the event and purge nothing")
	must(cmd.MarkFlagRequired("seq"))
	must(cmd.MarkFlagRequired("why"))
	a.jsonFlag(cmd)
	return cmd
}
