package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerInviteWithdrawCommand() *cobra.Command {
	var in node.Withdrawal
	cmd := &cobra.Command{
		Use:   "withdraw ID",
		Short: "End an open invitation before its time",
		Long: `End an open invitation: whoever calls with its token from then on is a stranger. A hub that has called with it already
waits here and stays so; fleet peer reject turns it away.`,
		Example: `  fleet peer invite withdraw 1f0e9c3a --by 'Dana Ito'`,
		Args:    one("one invitation id, the first column of fleet peer invite list"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			in.ID = args[0]
			return a.connect(ctx, func(c *node.Client) error {
				row, err := c.Withdraw(ctx, in)
				if err != nil {
					return err
				}
				return a.print(row, func(w io.Writer) error {
					t := table{w: w}
					t.row("id", row.ID)
					t.row("state", inviteState(row))
					return t.err
				})
			})
		}),
	}
	cmd.Flags().StringVar(&in.By, "by", "", "who withdraws it, for the record")
	a.jsonFlag(cmd)
	return cmd
}
