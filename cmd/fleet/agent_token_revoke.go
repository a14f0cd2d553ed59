package main

import (
	"context"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "End a token",
		Example: `  fleet agent token revoke 01JAB3C4D5E6F7G8H9J0KMNPQR`,
		Args:    one("one token id, the first column of fleet agent token list"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				if err := c.RevokeToken(ctx, args[0]); err != nil {
					return err
				}
				a.say("revoked %s\n", args[0])
				return nil
			})
		}),
	}
}
