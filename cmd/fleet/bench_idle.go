package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
	"fleetrelay/testenv/load"
)

func (a *app) benchIdleCommand() *cobra.Command {
	o := load.IdleOptions{Progress: func(text string) { a.say("%s\n", text) }}
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "What agents cost that are only there",
		Long: `Register agents with one node, each over a socket of its own, let them do nothing but send a heartbeat every 20 s,
and print the memory and the CPU time that each costs, and how often it is told of the others. Above 256 names an agent
must be told at most once a second; anything else is exit 1.`,
		Example: `  fleet bench idle
  fleet bench idle --agents 5000 --span 1m --json`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.benchIdle(ctx, o) }),
	}
	cmd.Flags().IntSliceVar(&o.Agents, "agents", []int{1000, 10_000}, "numbers of agents, each measured with a node of its own")
	cmd.Flags().DurationVar(&o.Span, "span", 20*time.Second, "how long they idle")
	cmd.Flags().DurationVar(&o.Settle, "settle", 5*time.Second, "pause before the node's memory is looked at")
	cmd.Flags().StringVar(&o.Dir, "work", "", "folder on the disk to measure (default: the temporary one)")
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) benchIdle(ctx context.Context, o load.IdleOptions) (err error) {
	if len(o.Agents) == 0 || slices.Min(o.Agents) < 1 {
		return usage("at least one agent")
	}
	if o.Binary, err = os.Executable(); err != nil {
		return err
	}
	got, err := load.MeasureIdle(ctx, o)
	if errors.Is(err, load.ErrTooFewFiles) {
		return &wanting{wire.ReasonCheckFailed, err.Error(), node.Advice("raise the limit (ulimit -Hn, or LimitNOFILE= of the service), or give fewer --agents")}
	}
	return a.measured(got, len(got.Rows) > 0, err)
}
