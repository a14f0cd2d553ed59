package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// nothing is the Args of a command without arguments.
func nothing(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument, and got %s", cmd.CommandPath(), quotedList(args))
	}
	return nil
}

// one is the Args of a command with one argument, which is what it is called in a refusal.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || strings.TrimSpace(args[0]) == "":
			return usage("%s needs %s", cmd.CommandPath(), what)
		case len(args) > 1:
			return usage("%s takes %s and got %d arguments; put a text with spaces into quotes: '%s'", cmd.CommandPath(), what, len(args), strings.Join(args, " "))
		}
		return nil
	}
}

// atMostOne is one for an argument that may be left away.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return one(what)(cmd, args)
	}
}

func quotedList(args []string) string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = strconv.Quote(arg)
	}
	return strings.Join(out, " ")
}

// flagError says what is wrong with a flag in the words of the command line, not of the program.
func flagError(_ *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := bad.GetFlag()
		kind := map[string]string{
			"uint64": "a number from 0 on", "int": "a whole number", "uint": "a number from 0 on", "bool": "true or false",
			"duration": "a time with its unit, for example 10s",
		}[f.Value.Type()]
		if kind == "" {
			kind = "a " + f.Value.Type()
		}
		return usage("--%s takes %s, not %q", f.Name, kind, bad.GetValue())
	}
	return &usageError{err.Error()}
}
