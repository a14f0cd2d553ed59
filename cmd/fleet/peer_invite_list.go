package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerInviteListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Invitations of this hub: open, used, withdrawn and expired ones",
		Long: `The open invitations of this hub and the latest closed ones, the oldest first. Of a used one HUB is what the hub that
called with it says it is. A token is shown once, when it is made, and never here.`,
		Example: `  fleet peer invite list`,
		Args:    nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				list, err := c.Invites(ctx)
				if err != nil {
					return err
				}
				return a.print(list, func(w io.Writer) error { return writeInvites(w, list.Invites) })
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

func writeInvites(w io.Writer, list []node.InviteStatus) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no invitations: fleet peer invite makes one")
		return err
	}
	rows := [][]string{{"ID", "STATE", "MADE", "UNTIL", "BY", "HUB", "FINGERPRINT"}}
	for _, i := range list {
		rows = append(rows, []string{i.ID, inviteState(i), clock(i.CreatedUS), clock(i.ExpiresUS), cmp.Or(i.By, i.User), cmp.Or(i.Hub, "-"), cmp.Or(i.Pin, "-")})
	}
	return writeColumns(w, rows)
}

// inviteState is one word for whether an invitation can be used.
func inviteState(i node.InviteStatus) string {
	if i.Open {
		return "open"
	}
	return strings.TrimPrefix(i.Ended, "invite_")
}
