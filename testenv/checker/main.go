package checker

import (
	"flag"
	"fmt"
	"io"
)

// Exit codes of Main, as everywhere in the product.
const (
	exitOK     = 0
	exitWanted = 1 // found wanting
	exitUsage  = 2
)

// fileList is a flag that may be given several times.
type fileList []string

func (l *fileList) String() string     { return fmt.Sprint(*l) }
func (l *fileList) Set(v string) error { *l = append(*l, v); return nil }

// Main is the checker as a process: `--clients DIR --export FILE [--export FILE …] [--min-accepted N] [--json]`. The
// report goes to stdout. It returns the exit code: 0 every promise kept, 1 found wanting, 2 usage.
func Main(args []string, stdout, stderr io.Writer) int {
	var in Input
	var asJSON bool
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&in.ClientsDir, "clients", "", "folder of the clients' logs")
	flags.Var((*fileList)(&in.Exports), "export", "journal export of one node; repeat for each")
	flags.IntVar(&in.MinAccepted, "min-accepted", 1, "fewer accepted messages than this are not a run")
	flags.BoolVar(&asJSON, "json", false, "print the report as one line of JSON")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || in.ClientsDir == "" || len(in.Exports) == 0 {
		fmt.Fprintln(stderr, "usage: --clients DIR --export FILE [--export FILE ...] [--min-accepted N] [--json]")
		return exitUsage
	}
	report := Check(in)
	write := report.WriteText
	if asJSON {
		write = report.WriteJSON
	}
	if err := write(stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return exitWanted
	}
	if !report.OK() {
		return exitWanted
	}
	return exitOK
}
