package main

import (
	"context"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

func (a *app) journalCommand() *cobra.Command {
	return groupCommand("journal", "Every fact this node knows",
		a.journalVerifyCommand(), a.journalInspectCommand(), a.journalExportCommand(), a.journalPurgeCommand(), a.journalReconcileCommand())
}

// events hands the events from..to to line: from the running node, else from the stopped store.
func (a *app) events(ctx context.Context, from, to uint64, bodies bool, line func([]byte) error) error {
	dir, err := a.nodeDir()
	if err != nil {
		return err
	}
	c, err := node.Running(ctx, dir)
	if err == nil {
		return closeAfter(c.Export(ctx, from, to, bodies, line), c)
	}
	if node.ReasonOf(err) != wire.ReasonNotRunning {
		return err
	}
	return node.ExportStopped(ctx, dir, from, to, bodies, line)
}
