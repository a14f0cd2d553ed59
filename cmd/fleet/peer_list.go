package main

import (
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
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				s, err := c.Status(ctx)
				if err != nil {
					return err
				}
				return a.print(peerList{s.Peers}, func(w io.Writer) error {
					for _, p := range s.Peers {
						if _, err := fmt.Fprintln(w, peerLine(p)); err != nil {
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
