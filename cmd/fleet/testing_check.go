package main

import (
	"github.com/spf13/cobra"

	"fleetrelay/testenv/checker"
)

// checkCommand is the checker as a process of its own: it judges from files alone.
func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "testing__check --clients DIR --export FILE...",
		Short:              "Judge a finished run from its clients' logs and its nodes' exports",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return told(checker.Main(args, a.out, a.err))
		},
	}
}
