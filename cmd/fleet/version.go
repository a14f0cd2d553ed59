package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

// versionInfo is the answer of `version --json`.
type versionInfo struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Which build this is",
		Example: `  fleet version`,
		Args:    nothing,
		RunE: func(*cobra.Command, []string) error {
			return a.print(versionInfo{version, runtime.Version()}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "fleet %s, %s\n", version, runtime.Version())
				return err
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}
