package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) tokenCreateCommand() *cobra.Command {
	var seat string
	cmd := &cobra.Command{
		Use:   "create --seat PROJECT/SEAT",
		Short: "Make a token for one seat; it is shown this once",
		Long: `Make a token that lets an agent register under one name (and the receivers of that name). The node keeps only its
hash. With the first token the hub stops being open: agents connected without one are disconnected and every agent
needs one from then on.`,
		Example: `  fleet agent token create --seat search/ranker`,
		Args:    nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				before, err := c.Status(ctx)
				if err != nil {
					return err
				}
				t, err := c.CreateToken(ctx, seat)
				if err != nil {
					return err
				}
				if !before.Secured {
					a.say("%s\n", secured)
				}
				return a.print(t, func(w io.Writer) error {
					rows := table{w: w}
					rows.row("id", t.ID)
					rows.row("seat", t.Seat)
					rows.row("token", t.Secret)
					return rows.err
				})
			})
		}),
	}
	cmd.Flags().StringVar(&seat, "seat", "", "the name it is for")
	must(cmd.MarkFlagRequired("seat"))
	a.jsonFlag(cmd)
	return cmd
}

// secured tells what the first token changes for everybody else.
const secured = "This is the first token: agents connected without one are disconnected, and every agent needs one from now on."

// must is for mistakes of this program's own making.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
