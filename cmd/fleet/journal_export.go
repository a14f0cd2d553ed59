package main

import (
	"bufio"
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) journalExportCommand() *cobra.Command {
	var from, to uint64
	var bodies bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Every event as one line of JSON",
		Long: `Every event, oldest first, as one line of JSON. Bodies are left out unless asked for: an export then shows who sent
what to whom, when, and the digest of what, but not what. A journal that ends before --from is exit 1; one that ends
before --to is exported as far as it goes, and standard error says where it ends.`,
		Example: `  fleet journal export > facts.jsonl
  fleet journal export --from 1000 --to 2000 --bodies`,
		Args: nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if to != 0 && to < from {
				return usage("--from %d is after --to %d", from, to)
			}
			w := bufio.NewWriterSize(a.out, 64<<10)
			last := max(from, 1) - 1
			err := a.events(ctx, from, to, bodies, func(line []byte) error {
				last++
				_, err := w.Write(line)
				return err
			})
			if err = errors.Join(err, w.Flush()); err == nil && last < to {
				a.say("The journal ends at event %d.\n", last)
			}
			return err
		}),
	}
	f := cmd.Flags()
	f.Uint64Var(&from, "from", 1, "first event")
	f.Uint64Var(&to, "to", 0, "last event (0: the end)")
	f.BoolVar(&bodies, "bodies", false, "with the messages' bodies")
	a.jsonFlag(cmd) // for scripts that give it everywhere: the answer is JSON in any case
	return cmd
}
