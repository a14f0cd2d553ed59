package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

func (a *app) journalInspectCommand() *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "inspect SEQ",
		Short: "One event, indented",
		Example: `  fleet journal inspect 42
  fleet journal inspect 42 --body`,
		Args: one("one event number"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			seq, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil || seq == 0 {
				return usage("%q is no event number", args[0])
			}
			found := false
			err = a.events(ctx, seq, seq, body, func(line []byte) error {
				found = true
				return a.indented(line)
			})
			if err == nil && !found {
				err = noSuchEvent(seq)
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&body, "body", false, "with the body")
	return cmd
}

func noSuchEvent(seq uint64) error {
	return &node.Refusal{Reason: wire.ReasonNoSuchEvent, Text: fmt.Sprintf("the journal ends before event %d", seq), Next: node.Command("status")}
}

func (a *app) indented(line []byte) error {
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
