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
		Args:    nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				list, err := c.Tokens(ctx)
				if err != nil {
					return err
				}
				return a.print(list, func(w io.Writer) error {
					if len(list.Tokens) == 0 {
						_, err := fmt.Fprintln(w, "no tokens: this hub takes any agent of this machine")
						return err
					}
					rows := [][]string{{"ID", "SEAT", "MADE", "BY"}}
					for _, t := range list.Tokens {
						rows = append(rows, []string{t.ID, t.Seat, clock(t.CreatedUS), t.By})
					}
					return writeColumns(w, rows)
				})
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}
