package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

// peerList is the answer of `peer list --json`.
type peerList struct {
	Peers []node.PeerStatus `json:"peers"`
}

func (a *app) peerListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Approved hubs, their links, and what waits for them",
		Example: `  fleet peer list`,
		Args:    nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				s, err := c.Status(ctx)
				if err != nil {
					return err
				}
				return a.print(peerList{s.Peers}, func(w io.Writer) error {
					if len(s.Peers) == 0 {
						_, err := fmt.Fprintln(w, "no peers: fleet peer add approves another hub")
						return err
					}
					rows := [][]string{{"HUB", "LINK", "WAITING", "TAKEN", "REFUSED", "RECEIVED", "WHY DOWN"}}
					for _, p := range s.Peers {
						rows = append(rows, []string{p.Hub, linkWord(p), number(p.OutHead - p.OutAcked), number(p.OutAcked - p.OutRefused), number(p.OutRefused), number(p.In), cmp.Or(p.LinkReason, "-")})
					}
					return writeColumns(w, rows)
				})
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}
