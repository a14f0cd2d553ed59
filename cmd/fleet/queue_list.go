package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) queueListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "How much waits for each hub, since when, and for what",
		Long: `How many messages wait for each peer, how large they are, since when the oldest waits, for what, until when
if no link comes up, and how often the link has been tried in vain since it last held. A message that never left is given up
at that time and its sender told; one that may have left waits for the other hub's answer.`,
		Example: `  fleet queue list`,
		Args:    nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				q, err := c.Queues(ctx)
				if err != nil {
					return err
				}
				return a.print(q, func(w io.Writer) error {
					if len(q.Queues) == 0 {
						_, err := fmt.Fprintln(w, "no peers")
						return err
					}
					rows := [][]string{{"HUB", "WAITING", "SIZE", "OLDEST", "UNTIL", "TRIED", "FOR"}}
					for _, q := range q.Queues {
						rows = append(rows, []string{string(q.Peer), number(q.Records), bytesText(q.Bytes), age(q.OldestUS), until(q.UntilUS), strconv.Itoa(q.LinkAttempts), waitsFor(q)})
					}
					return writeColumns(w, rows)
				})
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}
