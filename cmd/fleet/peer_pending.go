package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

func (a *app) peerPendingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "Hubs that wait for a decision here, and their codes",
		Long: `Hubs that wait for a decision here: those whose invitation was taken, those that called with an invitation of this hub,
and strangers that called with none, who are forgotten an hour after their last call. A hub whose invitation has ended
before it was approved is shown as expired for a day; it is not called any more. Nothing they say is heard until
one is approved. A hub id is what a caller says of itself; the code and the key are what counts.`,
		Example: `  fleet peer pending`,
		Args:    nothing,
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				list, err := c.Pending(ctx)
				if err != nil {
					return err
				}
				if err := a.print(list, func(w io.Writer) error { return writePending(w, list.Pending) }); err != nil || len(list.Pending) == 0 {
					return err
				}
				a.lead(cmd, afterPending(list.Pending))
				return nil
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

// afterPending is what leads on: to a decision if one can be made.
func afterPending(list []node.Pending) node.Next {
	if slices.ContainsFunc(list, func(p node.Pending) bool { return !p.Expired }) {
		return node.Command("peer", "approve", "CODE", "--by", "NAME", "--may-reach", "PATTERN")
	}
	return node.Advice("ask the administrator of " + list[0].Hub + " for a new invitation, and join with it")
}

func writePending(w io.Writer, list []node.Pending) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "nobody waits")
		return err
	}
	rows := [][]string{{"CODE", "HUB", "WHO", "STATE", "FROM", "UNTIL", "FINGERPRINT"}}
	for _, p := range list {
		rows = append(rows, []string{
			cmp.Or(p.Code, "-"), cmp.Or(p.Hub, "-"), p.Who(), waitState(p), cmp.Or(p.Host, "-"), clock(p.ExpiresUS), p.Pin,
		})
	}
	return writeColumns(w, rows)
}

// waitState says what a pending hub did so far, or how far the calls at it have come.
func waitState(p node.Pending) string {
	switch {
	case p.Expired:
		return "expired: ask for a new invitation"
	case p.Accepted:
		return "has approved us"
	case wire.Reason(p.CallReason) == wire.ReasonPeerPending:
		return fmt.Sprintf("called %s, refused there: waiting or turned away", times(uint64(p.Calls)))
	case p.CallReason != "":
		return fmt.Sprintf("called %s: %s", times(uint64(p.Calls)), p.CallReason)
	case p.LastUS != 0:
		return fmt.Sprintf("called us %s, last %s ago", times(p.Times), age(p.LastUS))
	}
	return "not called yet"
}

// times is how often something was done.
func times(n uint64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return number(n) + " times"
}
