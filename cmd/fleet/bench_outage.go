package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"fleetrelay/testenv/load"
)

func (a *app) benchOutageCommand() *cobra.Command {
	o := load.OutageOptions{Progress: func(text string) { a.say("%s\n", text) }}
	cmd := &cobra.Command{
		Use:   "outage",
		Short: "What messages cost across a link, in its queue, and when it drains",
		Long: `Send messages from one node to another; then as many while the other node is stopped in its tracks; then let it
go on, and print how the queue drains beside the live link of the same run, and what each stage cost both nodes together:
CPU time, bytes written, growth of both journals, resident memory.`,
		Example: `  fleet bench outage
  fleet bench outage --messages 1000000 --json`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) (err error) {
			if o.Messages < 1 {
				return usage("at least one message")
			}
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			got, err := load.MeasureOutage(ctx, o)
			return a.measured(got, len(got.Stages) > 0, err)
		}),
	}
	cmd.Flags().IntVar(&o.Messages, "messages", 100_000, "messages of each stage")
	cmd.Flags().BoolVar(&o.Receipts, "receipts", true, "ask for a receipt of each message")
	cmd.Flags().StringVar(&o.Dir, "work", "", "folder on the disk to measure (default: the temporary one)")
	a.jsonFlag(cmd)
	return cmd
}
