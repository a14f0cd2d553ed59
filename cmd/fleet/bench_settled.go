package main

import (
	"context"
	"fmt"
	"io"
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
		Long: `Send messages through one node until so many are delivered and acknowledged, and print its resident memory on the
way and how long a start takes with all of them.`,
		Example: `  fleet bench settled --messages 1000000`,
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			binary, err := os.Executable()
			if err != nil {
				return err
			}
			g, err := load.Settle(ctx, &load.Product{Binary: binary, Hops: 1}, total, steps, work, func(text string) { a.say("%s\n", text) })
			if err != nil {
				return &wanting{fmt.Sprintf("the measurement failed: %v", err)}
			}
			return a.print(g, func(w io.Writer) error { return writeGrowth(w, g) })
		}),
	}
	cmd.Flags().IntVar(&total, "messages", 1_000_000, "messages to settle")
	cmd.Flags().IntVar(&steps, "steps", 10, "checkpoints on the way")
	cmd.Flags().StringVar(&work, "work", "", "folder on the disk to measure (default: the temporary one)")
	a.jsonFlag(cmd)
	return cmd
}

func writeGrowth(w io.Writer, g *load.Growth) error {
	t := table{w: w}
	for _, c := range g.Checkpoints {
		t.row(fmt.Sprint(c.Settled), fmt.Sprintf("resident %.0f MiB, %.0f messages/s", c.ResidentMiB, c.PerS))
	}
	t.row("start", fmt.Sprintf("%.0f ms empty, %.0f ms with all of them", g.EmptyStart, g.FullStart))
	return t.err
}
