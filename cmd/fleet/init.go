package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

// addressFlags are the listeners' addresses of init, up and serve; what is given is kept in fleet.yaml.
type addressFlags struct{ node.Addresses }

func (f *addressFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Agents, "agents", "", "TCP address for agents (default "+node.DefaultAgents+")")
	cmd.Flags().StringVar(&f.Links, "links", "", "UDP address for other hubs (default "+node.DefaultLinks+")")
	cmd.Flags().StringArrayVar(&f.Announce, "announce", nil, "HOST:PORT at which other hubs reach the links address, for invitations; may be given again")
}

func (a *app) initCommand() *cobra.Command {
	var hub string
	var at addressFlags
	var points failpointFlag
	cmd := &cobra.Command{
		Use:   "init --hub ID",
		Short: "Make a node: its key, its settings, its journal",
		Long: `Make a node's folder: identity key and certificate, fleet.yaml, and the journal.

The hub id names this node to every other hub, for good; a domain name you own is a good one.
When the default ports are in use the next free pair is taken and printed.
An init that was interrupted is finished by the same command; key and pin stay.`,
		Example: `  fleet init --hub hub.example.org
  fleet init --hub hub.example.org --agents 127.0.0.1:9000 --links :9001`,
		Args: nothing,
		RunE: a.do(func(_ context.Context, cmd *cobra.Command, _ []string) error {
			hook, err := points.hook()
			if err != nil {
				return err
			}
			made, err := a.makeNode(node.InitOptions{Hub: hub, Addresses: at.Addresses, Hook: hook}, at)
			if err != nil {
				return err
			}
			if s := (node.Status{Agents: made.Agents}); s.Exposed() {
				a.say("Agents will reach this node from other machines: make a token before fleet serve, with\n%s\n",
					forFolder(cmd.Root(), node.Command("agent", "token", "create", "--seat", "PROJECT/SEAT"), a.folderToName()))
			}
			return a.print(made, func(w io.Writer) error { return writeMade(w, made) })
		}),
	}
	cmd.Flags().StringVar(&hub, "hub", "", "this node's hub id, for good")
	at.add(cmd)
	points.add(cmd)
	a.jsonFlag(cmd)
	return cmd
}

// makeNode makes the node meant; at is what the command line says of its addresses, be it kept now or later.
func (a *app) makeNode(o node.InitOptions, at addressFlags) (node.Made, error) {
	var err error
	if o.Dir, err = a.nodeDir(); err != nil {
		return node.Made{}, err
	}
	if o.Hub == "" && !node.Initialised(o.Dir) {
		return node.Made{}, usage("a node needs a hub id, for good: --hub %s, for example", node.HubIDFor(o.Dir))
	}
	made, err := node.Init(o)
	if err == nil && at.Agents == "" && at.Links == "" && (made.Agents != node.DefaultAgents || made.Links != node.DefaultLinks) {
		a.say("The default ports are in use; this node takes %s and %s.\n", made.Agents, made.Links)
	}
	return made, err
}

func writeMade(w io.Writer, m node.Made) error {
	_, err := fmt.Fprintf(w, `hub     %s
folder  %s
pin     %s
agents  %s
links   %s
`, m.Hub, m.Dir, m.Pin, m.Agents, m.Links)
	return err
}
