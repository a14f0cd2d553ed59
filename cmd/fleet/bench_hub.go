package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) benchHubCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "hub",
		Short: "One node beside the one-hop pipeline",
		Long: `One node beside the one-hop pipeline: throughput, latency, CPU and bytes written for each message, with one
sender, 64 senders with one message in flight, and 64 with 32. Only the ratios mean anything beyond this run.`,
		Example: `  fleet bench hub
  fleet bench hub --pairs 5 --span 10s --json`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.compare(ctx, 1, f) }),
	}
	f.add(a, cmd, false)
	return cmd
}
