package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

// app is what every command shares: where answers go and which node is meant.
type app struct {
	out, err io.Writer
	dir      string
	json     bool
	// jsonErrors says that --json was given, also on a command line that is refused before it is understood.
	jsonErrors bool
	misused    error // help was asked for a command that does not exist
	began      bool  // a command's own code ran, so its errors are not about usage
}

// run executes one command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	a := &app{out: stdout, err: stderr, jsonErrors: slices.Contains(args, "--json")}
	root := a.root()
	root.SetArgs(args)
	// The first signal ends gracefully; stop restores the default, so a second one ends at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	cmd, err := root.ExecuteContextC(ctx)
	return a.exit(root, cmd, cmp.Or(err, a.misused))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "fleet",
		Short: "Join the hubs of AI agents of different organisations",
		Long: `Fleet is a hub for the agents of one organisation and a relay to the hubs of others.
It loses no accepted message: everything is in the node's journal before anyone is told.

A node is a folder. Without --dir and FLEET_DIR it is ` + shortDefaultDir + `.`,
		Example: `  fleet up --hub example.org     make a node and run it
  fleet demo                     two nodes, peered, killed and restarted, in ten seconds`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.dir, "dir", "", "the node's folder (FLEET_DIR; default "+shortDefaultDir+")")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.Version = version
	root.SetVersionTemplate("fleet {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		a.initCommand(), a.upCommand(), a.serveCommand(), a.statusCommand(), a.agentCommand(), a.peerCommand(),
		a.sendCommand(), a.watchCommand(), a.queueCommand(), a.journalCommand(), a.doctorCommand(), a.demoCommand(), a.benchCommand(),
		a.versionCommand(),
		a.checkCommand(), a.skeletonCommand(), a.crashCommand(),
	)
	root.RunE = group
	a.checkHelp(root)
	root.InitDefaultCompletionCmd()
	if c := childOf(root, "completion"); c != nil {
		c.Args, c.RunE = cobra.ArbitraryArgs, group
	}
	return root
}

const shortDefaultDir = "$XDG_DATA_HOME/fleet, else ~/.local/share/fleet"

// nodeDir is the folder meant: --dir, FLEET_DIR, or the user's data folder.
func (a *app) nodeDir() (string, error) {
	dir := a.dir
	if dir == "" {
		dir = os.Getenv(envDir)
	}
	if dir == "" {
		var err error
		if dir, err = dataDir(); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir)
}

// envDir is the variable that names the node's folder.
const envDir = "FLEET_DIR"

// dataDir is the folder of a node that nobody named one for.
func dataDir() (string, error) {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "fleet"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usage("which folder? There is no home folder to look in: give --dir")
	}
	return filepath.Join(home, ".local", "share", "fleet"), nil
}

// task is a command's own code.
type task func(ctx context.Context, cmd *cobra.Command, args []string) error

// do makes a cobra RunE of a task and notes that usage was right.
func (a *app) do(t task) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.began = true
		return t(cmd.Context(), cmd, args)
	}
}

// group is the RunE of a command that only has subcommands: alone it shows help, with a word it knows nothing of
// it is wrong usage.
func group(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return noCommand(cmd, args[0])
	}
	return cmd.Help()
}

func groupCommand(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: group}
	// The flags of a command that does not exist are no news.
	c.FParseErrWhitelist.UnknownFlags = true
	for _, child := range children {
		c.Example += child.Example + "\n"
	}
	c.AddCommand(children...)
	return c
}

// worksAlone annotates a command that does something by itself and has others below it as well.
const worksAlone = "works-alone"

// isGroup says that a command does nothing but hold others.
func isGroup(c *cobra.Command) bool { return c.HasSubCommands() && c.Annotations[worksAlone] == "" }

// jsonFlag gives a command whose answer is data its --json.
func (a *app) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.json, "json", false, "answer in JSON")
}

// options are how this command line opens a node; the folder is the app's.
func (a *app) options(overrides map[string]any) (node.Options, error) {
	dir, err := a.nodeDir()
	return node.Options{Dir: dir, Overrides: overrides, Environ: os.Environ(), Version: version, Log: slog.New(slog.DiscardHandler)}, err
}

// connect reaches the node meant, serving or stopped, for one operation.
func (a *app) connect(ctx context.Context, fn func(*node.Client) error) error {
	o, err := a.options(nil)
	if err != nil {
		return err
	}
	c, err := node.Connect(ctx, o)
	if err != nil {
		return err
	}
	return closeAfter(fn(c), c)
}

// running reaches the node meant if it serves.
func (a *app) running(ctx context.Context, fn func(*node.Client) error) error {
	dir, err := a.nodeDir()
	if err != nil {
		return err
	}
	c, err := node.Running(ctx, dir)
	if err != nil {
		return err
	}
	return closeAfter(fn(c), c)
}
