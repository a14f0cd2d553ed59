package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

func (a *app) watchCommand() *cobra.Command {
	var seat string
	var count int
	cmd := &cobra.Command{
		Use:   "watch --as SEAT",
		Short: "What a seat gets and gives, as it happens",
		Long: `What a seat gets and gives, a line each, until an interrupt; with --json the whole frames. Nothing is registered and
no name is bound, so watching changes nothing for the agents.`,
		Example: `  fleet watch --as search/ranker
  fleet watch --as search/ranker --count 1    # the next one only`,
		Args: nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.running(ctx, func(c *node.Client) error {
				seen := 0
				err := c.Watch(ctx, seat, func(line []byte) error {
					if err := a.printWatched(line); err != nil {
						return err
					}
					if seen++; seen == count {
						return errEnough
					}
					return nil
				})
				switch {
				case errors.Is(err, errEnough) || ctx.Err() != nil:
					return nil
				case err == nil:
					return &node.Refusal{Reason: wire.ReasonHubShutdown, Text: "the node stopped, and with it this watch", Next: node.Command("serve")}
				}
				return err
			})
		}),
	}
	cmd.Flags().StringVar(&seat, "as", "", "the seat")
	cmd.Flags().IntVar(&count, "count", 0, "end after so many lines (0: never)")
	must(cmd.MarkFlagRequired("as"))
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) printWatched(line []byte) error {
	if a.json {
		_, err := a.out.Write(line)
		return err
	}
	var w node.Watched
	if err := wire.UnmarshalLax(line, &w); err != nil {
		return err
	}
	frame, err := wire.ParseObject(w.Frame, wire.Limits{MaxBytes: 1 << 30})
	if err != nil {
		return err
	}
	text := func(name string) string {
		v, _ := frame.Get(name)
		if s, ok := v.Text(); ok {
			return s
		}
		return string(v)
	}
	way := "got "
	if w.Sent {
		way = "gave"
	}
	if kind := text("type"); kind != string(wire.TypeChat) {
		_, err = fmt.Fprintf(a.out, "%s  %s  %q  %s\n", way, kind, text("payload"), cmp.Or(text("error_code"), text("reason")))
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s  %s > %s  %q  seq %s\n", way, text("sender"), text("target"), text("payload"), text("seq"))
	return err
}

var errEnough = errors.New("as many lines as asked for")
