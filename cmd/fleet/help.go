package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// checkHelp makes asking help for a command that does not exist wrong usage, be it `fleet peer nosuch --help` or
// `fleet help peer nosuch`: the help of the group would look like the answer.
func (a *app) checkHelp(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
			a.misused = noCommand(cmd, cmd.Flags().Arg(0))
			return
		}
		show(cmd, args)
	})
	root.InitDefaultHelpCmd()
	if c := childOf(root, "help"); c != nil {
		c.Run, c.RunE = nil, helpFor
	}
}

// helpFor is the RunE of help.
func helpFor(help *cobra.Command, words []string) error {
	cmd := help.Root()
	for _, word := range words {
		child := childOf(cmd, word)
		if child == nil {
			return noCommand(cmd, word)
		}
		cmd = child
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

// noCommand is the usage error of a word that names no command below cmd.
func noCommand(cmd *cobra.Command, word string) error {
	text := cmd.CommandPath() + " " + word
	if all := names(cmd); len(all) > 0 {
		return usage("there is no command %q; there is %s", text, strings.Join(all, ", "))
	}
	return usage("there is no command %q", text)
}

// names are the commands a person may give below this one.
func names(cmd *cobra.Command) []string {
	var all []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c.Name())
		}
	}
	return all
}
