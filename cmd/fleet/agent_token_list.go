package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) tokenListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "The tokens that are valid, without their secrets",
		Example: `  fleet agent token list --json`,
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				list, err := c.Tokens(ctx)
				if err != nil {
					return err
				}
				return a.print(list, func(w io.Writer) error {
					for _, t := range list.Tokens {
						if _, err := fmt.Fprintf(w, "%s  %s\n", t.ID, t.Seat); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}
