package main

import "github.com/spf13/cobra"

// peerAddCommand is approve for scripts that know a hub and its key beforehand and name the key by --pin. It is not shown:
// people compare a code.
func (a *app) peerAddCommand() *cobra.Command {
	cmd := a.peerApproveCommand()
	cmd.Use, cmd.Hidden = "add --hub ID --endpoint HOST:PORT --pin PIN --may-reach PATTERN --by NAME", true
	cmd.Short, cmd.Long = "Approve a hub by its pin", "Approve a hub whose id, endpoint and key are known beforehand. fleet peer approve does the same and more."
	cmd.Example = `  fleet peer add --hub partner.example --endpoint relay.partner.example:8877 \
    --pin sha256:1f0e... --may-reach 'search/*' --by 'Dana Ito'`
	pin := cmd.Flags().String("pin", "", "fingerprint of its key, compared")
	for _, name := range []string{"hub", "endpoint", "pin"} {
		must(cmd.MarkFlagRequired(name))
	}
	cmd.Args = nothing
	approve := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return approve(cmd, []string{*pin}) }
	return cmd
}
