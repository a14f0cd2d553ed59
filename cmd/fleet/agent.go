package main

import "github.com/spf13/cobra"

func (a *app) agentCommand() *cobra.Command {
	return groupCommand("agent", "Agents of this hub",
		groupCommand("token", "Tokens with which agents register; without any, the hub is open to this machine only",
			a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand()))
}
