package main

import (
	"context"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

func (a *app) upCommand() *cobra.Command {
	var hub string
	var f serveFlags
	cmd := &cobra.Command{
		Use:     "up --hub ID",
		Short:   "Make the node if there is none, then run it",
		Example: `  fleet up --hub hub.example.org`,
		Args:    nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			dir, err := a.nodeDir()
			if err != nil {
				return err
			}
			if !node.Initialised(dir) {
				// Addresses given here are kept once they are bound, not before.
				if _, err := a.makeNode(node.InitOptions{Hub: hub}, f.at); err != nil {
					return err
				}
				return a.serve(ctx, f)
			}
			if err := sameHub(dir, hub); err != nil {
				return err
			}
			return a.serve(ctx, f)
		}),
	}
	cmd.Flags().StringVar(&hub, "hub", "", "the hub id of a node to make; of an existing one, the id it must have")
	f.add(a, cmd)
	return cmd
}

// sameHub refuses to run another hub's folder because somebody asked for this one.
func sameHub(dir, hub string) error {
	if hub == "" {
		return nil
	}
	cfg, _, err := node.LoadConfig(dir, nil, nil)
	if err != nil || cfg.Hub == hub {
		return err
	}
	return &node.Refusal{
		Reason: wire.ReasonWrongHub, Text: dir + " holds hub " + cfg.Hub + ", not " + hub,
		Next: node.Advice("give the --dir of hub " + hub + ", or leave --hub away to run hub " + cfg.Hub),
	}
}
