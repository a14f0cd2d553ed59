package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"fleetrelay/testenv/load"
)

func (a *app) benchSettledCommand() *cobra.Command {
	var total, steps int
	var work string
	cmd := &cobra.Command{
		Use:   "settled",
		Short: "Memory and start-up time against settled messages",
		Long: `Send messages through one node until so many are delivered and acknowledged, and print its resident memory and its
journal on the way, and how long a start takes with all of them: after SIGKILL, and after SIGTERM.`,
		Example: `  fleet bench settled --messages 1000000`,
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if steps < 1 || total < steps {
				return usage("at least one message a step, and one step")
			}
			binary, err := os.Executable()
			if err != nil {
				return err
			}
			g, err := load.Settle(ctx, &load.Product{Binary: binary, Hops: 1}, total, steps, work, func(text string) { a.say("%s\n", text) })
			return a.measured(g, len(g.Checkpoints) > 0, err)
		}),
	}
	cmd.Flags().IntVar(&total, "messages", 1_000_000, "messages to settle")
	cmd.Flags().IntVar(&steps, "steps", 10, "checkpoints on the way")
	cmd.Flags().StringVar(&work, "work", "", "folder on the disk to measure (default: the temporary one)")
	a.jsonFlag(cmd)
	return cmd
}
