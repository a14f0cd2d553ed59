package crash

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/checker"
)

// Faults are the planted faults that a run must find.
func Faults() []string {
	return []string{"loss", "double", "swap", "altered", "early_effect", "receipt_loss", "receipt_twice", "receipt_false"}
}

// wordOf is the word under which the checker must find a planted fault.
func wordOf(fault string) checker.Word {
	switch fault {
	case "loss":
		return checker.AcceptedLost
	case "double":
		return checker.DeliveredTwice
	case "swap":
		return checker.Order
	case "altered":
		return checker.Altered
	case "early_effect":
		return checker.EffectBeforeSync
	case "receipt_loss":
		return checker.ReceiptMissing
	case "receipt_twice":
		return checker.ReceiptConflict
	case "receipt_false":
		return checker.ReceiptFalse
	}
	panic("no planted fault " + fault)
}

// AsExpected says whether the verdict is the one the run was made for: good without a fault, and found by its own word with one.
func (r *Result) AsExpected() bool {
	if r.Fault == "" {
		return r.OK()
	}
	return r.ExitCode == 1 && r.Report.Counts[wordOf(r.Fault)] > 0
}

// settings are the flags of Main.
type settings struct {
	messages, kills, senders int
	seed                     uint64
	faults, dir              string
	asJSON, keep             bool
}

// Main is the crash run as a command on the product binary: a full run that must be judged good, then a smaller one for each
// planted fault that must be judged bad. It returns the exit code: 0 as expected, 1 not, 2 usage.
func Main(ctx context.Context, binary string, args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("crash", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.messages, "messages", 10_000, "messages across, each way")
	flags.IntVar(&s.kills, "kills", 50, "SIGKILLs")
	flags.IntVar(&s.senders, "senders", 8, "senders on each node")
	flags.Uint64Var(&s.seed, "seed", 0, "repeats a run (0: a new one)")
	flags.StringVar(&s.faults, "faults", strings.Join(Faults(), ","), "planted faults to be found afterwards")
	flags.StringVar(&s.dir, "work", "", "folder for the run's files (default: a temporary one)")
	flags.BoolVar(&s.asJSON, "json", false, "print each result as one line of JSON")
	flags.BoolVar(&s.keep, "keep", false, "keep the files of good runs too")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2
	}
	for fault := range strings.SplitSeq(s.faults, ",") {
		if fault != "" && !slices.Contains(Faults(), fault) {
			fmt.Fprintf(stderr, "no planted fault %q; there are %s\n", fault, strings.Join(Faults(), ", "))
			return 2
		}
	}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	ok, err := s.all(ctx, binary, stdout)
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	if err != nil || !ok {
		return 1
	}
	return 0
}

// all runs without a fault, then with each.
func (s *settings) all(ctx context.Context, binary string, out io.Writer) (bool, error) {
	fmt.Fprintf(out, "seed %d; repeat with --seed %d --messages %d --kills %d\n", s.seed, s.seed, s.messages, s.kills)
	all, err := s.one(ctx, binary, out, "")
	if err != nil || s.faults == "" {
		return all, err
	}
	for fault := range strings.SplitSeq(s.faults, ",") {
		found, err := s.one(ctx, binary, out, fault)
		if err != nil {
			return false, err
		}
		all = all && found
	}
	return all, nil
}

// one runs once and says whether the verdict is the expected one.
func (s *settings) one(ctx context.Context, binary string, out io.Writer, fault string) (bool, error) {
	dir, err := s.folder(fault)
	if err != nil {
		return false, err
	}
	o := Options{Binary: binary, Dir: dir, Messages: s.messages, Senders: s.senders, Kills: s.kills, Seed: s.seed, Fault: fault}
	res, err := Run(ctx, o)
	if err != nil {
		return false, fmt.Errorf("crash run (seed %d, fault %q, files in %s): %w", s.seed, fault, dir, err)
	}
	expected := res.AsExpected()
	if err := s.print(out, res, expected, dir); err != nil {
		return false, err
	}
	if expected && !s.keep {
		return true, os.RemoveAll(dir)
	}
	return expected, nil
}

func (s *settings) folder(fault string) (string, error) {
	if s.dir == "" {
		return os.MkdirTemp("", "fleet-crash-")
	}
	dir := filepath.Join(s.dir, "run-"+fault)
	return dir, os.MkdirAll(dir, 0o700)
}

func (s *settings) print(out io.Writer, res *Result, expected bool, dir string) error {
	if s.asJSON {
		line, err := wire.Marshal(res)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", line)
		return err
	}
	what := "no fault planted"
	if res.Fault != "" {
		what = "planted fault " + res.Fault
	}
	fmt.Fprintf(out, "%s: %d SIGKILLs in %.1f s, %.0f accepted a second\n%s", what, res.Kills, res.Seconds, res.PerS, res.Verdict)
	for _, node := range res.Unclean {
		fmt.Fprintf(out, "not a clean end: %s\n", node)
	}
	verdict := "as expected"
	if !expected {
		verdict = "NOT as expected; the evidence is in " + dir
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", what, verdict)
	return err
}
