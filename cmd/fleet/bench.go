package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fleetrelay/testenv/load"
)

func (a *app) benchCommand() *cobra.Command {
	return groupCommand("bench", "Measure this machine: the product beside the bare pipeline, in one run",
		a.benchHubCommand(), a.benchRelayCommand(), a.benchOutageCommand(), a.benchSettledCommand(), a.benchIdleCommand())
}

// benchFlags are what hub and relay share.
type benchFlags struct {
	pairs    int
	span     time.Duration
	work     string
	receipts bool
}

func (f *benchFlags) add(a *app, cmd *cobra.Command, receipts bool) {
	cmd.Flags().BoolVar(&f.receipts, "receipts", receipts, "ask the product for a receipt of each message and count only those that were told")
	cmd.Flags().IntVar(&f.pairs, "pairs", 3, "measurements of each, in turn")
	cmd.Flags().DurationVar(&f.span, "span", 5*time.Second, "length of one measurement")
	cmd.Flags().StringVar(&f.work, "work", "", "folder on the disk to measure (default: the temporary one)")
	a.jsonFlag(cmd)
}

// compare measures the product with so many hops beside the pipeline with as many.
func (a *app) compare(ctx context.Context, hops int, f benchFlags) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	shapes := load.Shapes()
	for i := range shapes {
		shapes[i].Receipts = f.receipts
	}
	c, err := load.Compare(ctx, load.Options{
		Shapes:    shapes,
		Subject:   &load.Product{Binary: binary, Hops: hops},
		Yardstick: &load.Skeleton{Command: []string{binary, "testing__skeleton"}, Hops: hops},
		Pairs:     f.pairs, Length: load.Length{Warmup: time.Second, For: f.span}, Dir: f.work,
		Progress: func(text string) { a.say("%s\n", text) },
	})
	return a.measured(c, len(c.Rows) > 0, err)
}

// figures are what a measurement answers: JSON or a table.
type figures interface {
	WriteText(w io.Writer) error
}

// measured prints what was measured, if anything was, and then what went wrong.
func (a *app) measured(f figures, any bool, failed error) error {
	if any {
		if err := a.print(f, f.WriteText); err != nil {
			return err
		}
	}
	if failed != nil {
		return broken(fmt.Sprintf("the measurement failed: %v", failed))
	}
	return nil
}
