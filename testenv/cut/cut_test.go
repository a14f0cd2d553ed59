package cut

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetrelay/testenv/checker"
	"fleetrelay/testenv/process"
)

// The full size is `make link`.
var (
	cuts   = flag.Int("cuts", 6, "long cuts")
	pairs  = flag.Int("pairs", 3, "pairs of nodes")
	outage = flag.Duration("outage", 6*time.Second, "length of the outage before the first message")
	seed   = flag.Uint64("seed", 0, "repeats a run (0: a new one)")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if err := process.Clean(); err != nil {
		code = 1
	}
	if code == 0 && goleak.Find() != nil {
		println("goroutines are left: " + goleak.Find().Error())
		code = 1
	}
	os.Exit(code)
}

func runOnce(t *testing.T, o Options) []*Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(o.Cuts)*10*time.Second)
	defer cancel()
	binary, err := process.Binary(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if o.Seed = *seed; o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	o.Binary, o.Dir = binary, t.TempDir()
	t.Logf("repeat with: go test ./testenv/cut -run %s -args -cuts %d -pairs %d -seed %d", t.Name(), o.Cuts, o.Pairs, o.Seed)
	results, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// TestNothingIsLostAcrossCuts holds that nothing is lost or doubled, and that a node sends into the dark no more than what
// may be ahead and some attempts to get through.
func TestNothingIsLostAcrossCuts(t *testing.T) {
	t.Parallel() // it waits more than it works
	began := time.Now()
	total, messages := 0, int64(0)
	for i, res := range runOnce(t, Options{Cuts: *cuts, Pairs: *pairs, Least: 200}) {
		total += res.Cuts
		messages += res.Messages
		t.Logf("pair %d: %d long and %d short cuts, %v dark, %d messages of %d bytes; %d bytes passed, %d into the dark",
			i, res.Cuts, res.Short, res.Dark, res.Messages, res.Bytes, res.PassedBytes, res.DarkBytes)
		if res.Resent() {
			t.Errorf("pair %d sent too much into the dark", i)
		}
		if !res.OK() {
			t.Errorf("not clean: %v; last cut at %d, last link since %d\n%s", res.Unclean, res.LastCutUS, res.LinkedSinceUS, res.Verdict.Text)
		}
	}
	t.Logf("%d cuts, %d messages, %.1f s", total, messages, time.Since(began).Seconds())
	if total != *cuts {
		t.Errorf("%d cuts, want %d", total, *cuts)
	}
}

// TestPlantedFaultIsFound holds that the same run fails when the nodes break a promise.
func TestPlantedFaultIsFound(t *testing.T) {
	t.Parallel() // it waits more than it works
	res := runOnce(t, Options{Cuts: 1, Least: 300, Fault: "loss", Quiet: 2 * time.Second})[0]
	if res.Verdict.ExitCode != 1 || res.Verdict.Report.Counts[checker.AcceptedLost] == 0 {
		t.Errorf("the loss was not found\n%s", res.Verdict.Text)
	}
}

// firstAfter bounds the wait for the first message after the link is mended.
const firstAfter = time.Second

// TestFirstMessageAfterOutage holds that an outage costs nothing after its end, and that a node that cannot get through is
// quiet about it.
func TestFirstMessageAfterOutage(t *testing.T) {
	t.Parallel() // it waits more than it works
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+*outage)
	defer cancel()
	binary, err := process.Binary(ctx)
	if err != nil {
		t.Fatal(err)
	}
	res, err := RunOutage(ctx, Options{Binary: binary, Dir: t.TempDir(), Seed: rand.Uint64()}, *outage)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("after %v of darkness the first message came within %v; %.0f bytes a second were sent into it", *outage, res.First, res.PerS)
	if res.First > firstAfter {
		t.Errorf("the first message came %v after the wire was mended, want at most %v", res.First, firstAfter)
	}
	if res.PerS > 2*attemptsPerS {
		t.Errorf("%.0f bytes a second into the dark", res.PerS)
	}
}
