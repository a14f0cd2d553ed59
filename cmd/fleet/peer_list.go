package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Approved hubs, their links and what waits for them; revoked hubs and rejected keys",
		Example: `  fleet peer list`,
		Args:    nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				known, err := c.Peers(ctx)
				if err != nil {
					return err
				}
				return a.print(known, func(w io.Writer) error { return writeKnown(w, known) })
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

func writeKnown(w io.Writer, known node.Known) error {
	if len(known.Peers)+len(known.Revoked) == 0 {
		if _, err := fmt.Fprintln(w, "no peers: fleet peer invite begins with one, fleet peer join takes an invitation"); err != nil {
			return err
		}
	} else if err := writeColumns(w, peerRows(known)); err != nil {
		return err
	}
	for _, r := range known.Rejected {
		if _, err := fmt.Fprintf(w, "rejected %s %s %s by %s at %s\n", cmp.Or(r.Hub, "-"), cmp.Or(r.Code, "-"), r.Pin, r.By, clock(r.AtUS)); err != nil {
			return err
		}
	}
	return nil
}

func peerRows(known node.Known) [][]string {
	rows := [][]string{{"HUB", "LINK", "WAITING", "TAKEN", "REFUSED", "RECEIVED", "WHY DOWN"}}
	row := func(p node.PeerStatus, link, why string) {
		rows = append(rows, []string{p.Hub, link, number(p.OutHead - p.OutAcked), number(p.OutAcked - p.OutRefused), number(p.OutRefused), number(p.In), cmp.Or(why, "-")})
	}
	for _, p := range known.Peers {
		row(p, linkWord(p), p.LinkReason)
	}
	for _, r := range known.Revoked {
		row(r.PeerStatus, "revoked", fmt.Sprintf("by %s at %s %s", r.RevokedBy, clock(r.RevokedUS), r.Why))
	}
	return rows
}
