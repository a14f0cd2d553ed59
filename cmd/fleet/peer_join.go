package main

import (
	"context"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerJoinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "join TOKEN",
		Short: "Take another hub's invitation and call it",
		Long: `Take another hub's invitation. This hub then calls that one, which shows its administrator the code printed here. Read
it to each other over a way you trust, a telephone for example: it is the same on both sides only if nobody stands
between. Nothing passes before both have approved.

A token that a mail program broke into lines, or a shell into words, is put together again.`,
		Example: `  fleet peer join fleet1.eyJodWIiOiJwYXJ0bmVyLmV4YW1wbGUi.2c26b46b`,
		Args:    someToken,
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				row, err := c.Join(ctx, node.JoinRequest{Token: tokenOf(args)})
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

func someToken(cmd *cobra.Command, args []string) error {
	if tokenOf(args) == "" {
		return usage("%s needs one token", cmd.CommandPath())
	}
	return nil
}

// tokenOf is the token without what crept into it on its way: spaces, line ends, and characters that do not show. A
// token has none of them and ends with a sum of itself, so that no other one can come of it.
func tokenOf(args []string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.Join(args, ""))
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
