package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

// revoked is the answer of `agent token revoke --json`: the id of the token that opens nothing any more.
type revoked struct {
	ID string `json:"revoked"`
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "End a token",
		Example: `  fleet agent token revoke 1f0e9c3a`,
		Args:    one("one token id, the first column of fleet agent token list"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				if err := c.RevokeToken(ctx, args[0]); err != nil {
					return err
				}
				return a.print(revoked{args[0]}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "revoked %s\n", args[0])
					return err
				})
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}
