package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerJoinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "join TOKEN",
		Short: "Take another hub's invitation and call it",
		Long: `Take another hub's invitation. This hub then calls that one, which shows its administrator the code printed here. Read
it to each other over a way you trust, a telephone for example: it is the same on both sides only if nobody stands
between. Nothing passes before both have approved.`,
		Example: `  fleet peer join fleet1.eyJodWIiOiJwYXJ0bmVyLmV4YW1wbGUi.2c26b46b`,
		Args:    one("one token"),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				row, err := c.Join(ctx, node.JoinRequest{Token: args[0]})
				if err != nil {
					return err
				}
				if err := a.print(row, func(w io.Writer) error { return writeJoined(w, row) }); err != nil {
					return err
				}
				if !c.Running {
					a.lead(cmd, node.Command("serve"))
					return nil
				}
				a.lead(cmd, node.Command("peer", "approve", row.Code, "--by", "NAME", "--may-reach", "PATTERN"))
				return nil
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

func writeJoined(w io.Writer, p node.Pending) error {
	t := table{w: w}
	t.row("hub", p.Hub)
	t.row("pin", p.Pin)
	t.row("endpoints", strings.Join(p.Endpoints, ", "))
	t.row("expires", clock(p.ExpiresUS))
	t.row("code", p.Code)
	t.row("", "Read this code to the administrator of "+p.Hub+": they must see the same. Then both approve.")
	return t.err
}
