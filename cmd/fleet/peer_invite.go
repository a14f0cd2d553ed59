package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub"
)

func (a *app) peerInviteCommand() *cobra.Command {
	var r node.InviteRequest
	var expires time.Duration
	cmd := &cobra.Command{
		Use:   "invite",
		Short: "Make a token with which one other hub may ask to be a peer",
		Long: `Make an invitation: one token that names this hub, its key and where it is reached, and that one other hub may use
once. Its administrator takes it with fleet peer join; their hub then calls this one and waits for approval here. A
token approves nobody. It is a secret all the same, and shown this once.

fleet peer invite list shows which are open, fleet peer invite withdraw ends one before its time.

Without --endpoint it names the addresses that fleet status shows as announced.`,
		Example: `  fleet peer invite
  fleet peer invite --endpoint relay.example.org:8877 --expires 2h`,
		Args:        nothing,
		Annotations: map[string]string{worksAlone: "yes"},
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if expires < time.Second || expires > hub.MaxInviteTTL {
				return usage("--expires is a time from 1s to %.0fh", hub.MaxInviteTTL.Hours())
			}
			r.ExpiresS = int64(expires / time.Second)
			return a.connect(ctx, func(c *node.Client) error {
				made, err := c.Invite(ctx, r)
				if err != nil {
					return err
				}
				if made.Warning != "" {
					a.say("%s\n", made.Warning)
				}
				if err := a.print(made, func(w io.Writer) error { return writeInvite(w, made) }); err != nil {
					return err
				}
				if !c.Running {
					a.lead(cmd, node.Command("serve"))
					return nil
				}
				a.lead(cmd, node.Advice("give the token to the other hub's administrator, who joins with it and reads you the code that fleet peer approve takes"))
				return nil
			})
		}),
	}
	cmd.Flags().StringArrayVar(&r.Endpoints, "endpoint", nil, "HOST:PORT where the other hub reaches this one; may be given again")
	cmd.Flags().DurationVar(&expires, "expires", hub.DefaultInviteTTL, "how long it is open, at most 168h")
	cmd.Flags().StringVar(&r.By, "by", "", "who invites, for the record")
	a.jsonFlag(cmd)
	cmd.AddCommand(a.peerInviteListCommand(), a.peerInviteWithdrawCommand())
	return cmd
}

func writeInvite(w io.Writer, made node.Invite) error {
	t := table{w: w}
	t.row("id", made.ID)
	t.row("hub", made.Hub)
	t.row("pin", made.Pin)
	t.row("endpoints", strings.Join(made.Endpoints, ", "))
	t.row("expires", clock(made.ExpiresUS))
	t.row("token", made.Token)
	return t.err
}
