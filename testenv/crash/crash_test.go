package crash

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetrelay/testenv/process"
)

func TestMain(m *testing.M) {
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

func runOnce(t *testing.T, o Options) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	binary, err := process.Binary(ctx)
	if err != nil {
		t.Fatal(err)
	}
	o.Binary, o.Dir, o.Seed = binary, t.TempDir(), rand.Uint64()
	t.Logf("seed %d; repeat with: fleet testing__crash --seed %d --messages %d --kills %d --senders %d --faults '%s'", o.Seed, o.Seed, o.Messages, o.Kills, o.Senders, o.Fault)
	res, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d SIGKILLs, %.1f s, %.0f accepted a second\n%s", res.Kills, res.Seconds, res.PerS, res.Verdict)
	return res
}

func TestNothingIsLostUnderKills(t *testing.T) {
	const kills = 6
	res := runOnce(t, Options{Messages: 1000, Senders: 4, Kills: kills})
	if !res.OK() {
		t.Errorf("not clean: %v\n%s", res.Unclean, res.Verdict)
	}
	if res.Kills != kills {
		t.Errorf("%d SIGKILLs, want %d", res.Kills, kills)
	}
}

// TestPlantedFaultsAreFound holds that the same run fails with each planted fault, for the right reason.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, fault := range Faults() {
		t.Run(fault, func(t *testing.T) {
			t.Parallel() // a stalled run waits more than it works
			res := runOnce(t, Options{Messages: 800, Senders: 2, Kills: 4, Fault: fault, Quiet: 2 * time.Second})
			if !res.AsExpected() {
				t.Errorf("%s was not found", wordOf(fault))
			}
		})
	}
}

func TestPlans(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		kills, last := 0, int64(0)
		for _, p := range drawPlans(rng, 20, 8, 1000) {
			kills += p.kills()
			if p.at < last || p.at > 1000 {
				t.Fatalf("seed %d: a kill at %d after one at %d", seed, p.at, last)
			}
			last = p.at
		}
		if kills != 20 {
			t.Fatalf("seed %d: %d kills, want 20", seed, kills)
		}
	}
}
