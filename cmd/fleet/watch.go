package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) watchCommand() *cobra.Command {
	var seat string
	var count int
	cmd := &cobra.Command{
		Use:   "watch --as SEAT",
		Short: "What a seat gets and gives, as it happens",
		Long: `What a seat gets and gives, one line of JSON each, until an interrupt. Nothing is registered and no name is bound, so
watching changes nothing for the agents.`,
		Example: `  fleet watch --as search/ranker
  fleet watch --as search/ranker --count 1    # the next one only`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.running(ctx, func(c *node.Client) error {
				seen := 0
				err := c.Watch(ctx, seat, func(line []byte) error {
					if _, err := a.out.Write(line); err != nil {
						return err
					}
					if seen++; seen == count {
						return errEnough
					}
					return nil
				})
				if errors.Is(err, errEnough) {
					return nil
				}
				return err
			})
		}),
	}
	cmd.Flags().StringVar(&seat, "as", "", "the seat")
	cmd.Flags().IntVar(&count, "count", 0, "end after so many lines (0: never)")
	must(cmd.MarkFlagRequired("as"))
	return cmd
}

var errEnough = errors.New("as many lines as asked for")
