package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) benchRelayCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Two linked nodes beside the two-hop pipeline",
		Long: `Two linked nodes beside the two-hop pipeline: throughput, latency, CPU and bytes written for each message, with one
sender, 64 senders with one message in flight, and 64 with 32. A message of the product is done when its sender has the
receipt; the pipeline has none. Only the ratios mean anything beyond this run.`,
		Example: `  fleet bench relay
  fleet bench relay --pairs 5 --span 10s --json`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.compare(ctx, 2, f) }),
	}
	f.add(a, cmd, true)
	return cmd
}
