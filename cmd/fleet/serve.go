package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"fleetrelay/certs"
	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/journal"
	"fleetrelay/testenv/failpoint"
)

// serveFlags are what serve and up share.
type serveFlags struct {
	at        addressFlags
	fault     string
	failpoint failpointFlag
}

// failpointFlag is a list of fail-points at which the command dies or fails.
type failpointFlag struct{ list string }

const failpointName = "testing__failpoint"

func (f *failpointFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.list, failpointName, "", "die at a named point")
	cmd.Flags().Lookup(failpointName).Hidden = true
}

func (f failpointFlag) hook() (func(point string) error, error) {
	points, err := failpoint.Parse(f.list, slices.Concat(journal.Points(), certs.Points(), node.Points()))
	if err != nil {
		return nil, usage("--%s: %v", failpointName, err)
	}
	return failpoint.New(points, nil).Hit, nil
}

func (f *serveFlags) add(a *app, cmd *cobra.Command) {
	f.at.add(cmd)
	a.jsonFlag(cmd)
	cmd.Flags().StringVar(&f.fault, "testing__fault", "", "plant a fault that the checks must find")
	cmd.Flags().Lookup("testing__fault").Hidden = true
	f.failpoint.add(cmd)
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the node",
		Long: `Run the node until SIGTERM or an interrupt. One line on standard output says that it is ready;
the log is on standard error. Addresses given here are kept in fleet.yaml once they are bound.`,
		Example: `  fleet serve
  fleet serve --agents 0.0.0.0:8876    # needs an agent token first`,
		Args: nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.serve(ctx, f) }),
	}
	f.add(a, cmd)
	return cmd
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	o, err := a.options(f.at.Overrides())
	if err != nil {
		return err
	}
	o.LogTo = func(c node.Log) *slog.Logger { return node.NewLogger(a.err, c) }
	o.Fault = f.fault
	if o.Hook, err = f.failpoint.hook(); err != nil {
		return err
	}
	n, err := node.Open(o)
	if err != nil {
		return err
	}
	return n.Serve(ctx, func(s node.Status) {
		// Only now: a start that is refused leaves the settings as they were.
		if err := node.KeepAddresses(o.Dir, f.at.Addresses, o.Hook); err != nil {
			a.say("fleet: the addresses could not be kept in %s: %v\n", node.ConfigFile, err)
		}
		if s.Exposed() {
			a.say("%s\n", exposed)
		}
		if err := a.print(s, func(w io.Writer) error { return writeReady(w, s) }); err != nil {
			a.say("fleet: the ready line could not be written: %v\n", err)
		}
	})
}

func writeReady(w io.Writer, s node.Status) error {
	scheme := "ws"
	if s.AgentsTLS {
		scheme = "wss"
	}
	_, err := fmt.Fprintf(w, "ready: hub %s, agents %s, links %s\n", s.Hub, shown(scheme+"://", s.Agents), shown("", s.Links))
	return err
}

// exposed warns of agents that reach the node over a network in the clear.
const exposed = "Agents reach this node from other machines without TLS: tokens and messages can be read on the way. Set agents_tls in fleet.yaml."

// shown is a listener's address as people use it.
func shown(scheme, addr string) string {
	text, everywhere := node.Shown(addr)
	if everywhere {
		return scheme + text + " and every address of this machine"
	}
	return scheme + text
}
