package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"fleetrelay/hub/wire"
)

func (a *app) journalInspectCommand() *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "inspect SEQ",
		Short: "One event, indented",
		Example: `  fleet journal inspect 42
  fleet journal inspect 42 --body --json`,
		Args: one("one event number"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			seq, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil || seq == 0 {
				return usage("%q is no event number", args[0])
			}
			return a.events(ctx, seq, seq, body, a.event)
		}),
	}
	cmd.Flags().BoolVar(&body, "body", false, "with the body")
	a.jsonFlag(cmd)
	return cmd
}

// event prints one event: indented for people, with --json on one line as it is exported.
func (a *app) event(line []byte) error {
	if a.json {
		_, err := a.out.Write(line)
		return err
	}
	var v any
	if err := wire.UnmarshalLax(line, &v); err != nil {
		return err
	}
	text, err := wire.MarshalIndent(v)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(text, '\n'))
	return err
}
