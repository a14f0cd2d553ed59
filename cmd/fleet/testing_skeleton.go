package main

import (
	"github.com/spf13/cobra"

	"fleetrelay/testenv/skeleton"
)

// skeletonCommand is one hop of the bare pipeline, the yardstick of the benchmarks, as a process.
func (a *app) skeletonCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "testing__skeleton",
		Short:              "One hop of the bare pipeline that benchmarks compare with",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return told(skeleton.Main(cmd.Context(), args, a.out, a.err))
		},
	}
}
