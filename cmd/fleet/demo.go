package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var o demo.Options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Two nodes, peered, killed and restarted under traffic, judged from outside",
		Long: `Two nodes in temporary folders, peered through the command line; agents on both sides talk over real sockets, one is
away and catches up, and each node gets a SIGKILL with messages in flight. In the end a process that sees only the
agents' own logs and both journals says what was lost and what came twice. Exit 1 if anything is off.`,
		Example: `  fleet demo
  fleet demo --json 2>/dev/null`,
		Args: nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			var err error
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			o.Story = a.out
			if a.json {
				o.Story = a.err
			}
			res, err := demo.Run(ctx, o)
			if err != nil {
				return broken("the demo could not be judged: " + err.Error())
			}
			if err := a.print(res, func(w io.Writer) error { return writeVerdict(w, res) }); err != nil {
				return err
			}
			if !res.OK() {
				return broken("the demo found a broken promise")
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&o.Keep, "keep", "", "keep folders, logs and exports in this folder")
	cmd.Flags().StringVar(&o.Fault, "testing__fault", "", "plant a fault in both nodes; the demo must find it")
	must(cmd.Flags().MarkHidden("testing__fault"))
	a.jsonFlag(cmd)
	return cmd
}

func writeVerdict(w io.Writer, r demo.Result) error {
	_, err := fmt.Fprintf(w, "\nlost %d, doubled %d\n", r.Lost, r.Doubled)
	return err
}
