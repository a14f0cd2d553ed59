package main

import (
	"os"

	"github.com/spf13/cobra"

	"fleetrelay/testenv/crash"
)

// crashCommand is `make crash`: this binary's nodes under random SIGKILLs, judged by the checker, then every planted fault.
func (a *app) crashCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "testing__crash [--messages N] [--kills N] [--seed N]",
		Short:              "Thousands of messages each way under random SIGKILLs",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			binary, err := os.Executable()
			if err != nil {
				return err
			}
			return told(crash.Main(cmd.Context(), binary, args, a.out, a.err))
		},
	}
}
