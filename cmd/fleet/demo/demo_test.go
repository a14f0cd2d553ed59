package demo

import (
	"testing"

	"fleetrelay/testenv/checker"
)

func TestConversationIsWhole(t *testing.T) {
	lines, err := conversation()
	if err != nil {
		t.Fatal(err)
	}
	orgs := map[string]int{}
	for _, l := range lines {
		from, here := split(l.From)
		to, there := split(l.To)
		if from == "" || to == "" || l.Text == "" || l.From == l.To {
			t.Errorf("not a line of a conversation: %+v", l)
		}
		orgs[here+">"+there]++
	}
	if orgs["atlas>borea"] == 0 || orgs["borea>atlas"] == 0 || orgs["atlas>atlas"] == 0 {
		t.Errorf("it does not go all ways: %v", orgs)
	}
}

func TestCapturedLinesHaveParts(t *testing.T) {
	lines, err := captured()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if l.From == "" || l.To == "" || l.From == l.To || l.Text == "" {
			t.Errorf("a line without its parts: %+v", l)
		}
	}
	if len(lines) < 12 {
		t.Errorf("%d lines", len(lines))
	}
}

// TestResult: everything the checker can find wrong makes the result not OK, each alone.
func TestResult(t *testing.T) {
	good := func() *checker.Report {
		return &checker.Report{Totals: checker.Totals{Sent: 10, Delivered: 10}, Counts: map[checker.Word]int{}}
	}
	result := func(r *checker.Report, code int) Result {
		res := resultOf(r, code)
		res.Kills = kills
		return res
	}
	if r := result(good(), 0); !r.OK() {
		t.Fatalf("a good run is not OK: %+v", r)
	}
	for _, word := range checker.Words() {
		report := good()
		report.Counts[word] = 1
		if result(report, 1).OK() {
			t.Errorf("%s went unseen", word)
		}
	}
	report := good()
	report.Incomplete = []string{"no export"}
	fewer := good()
	fewer.Totals.Delivered = 9
	for name, r := range map[string]Result{
		"incomplete": result(report, 0), "undelivered": result(fewer, 0), "exit code": result(good(), 1), "nothing sent": result(&checker.Report{}, 0),
		"no kill": resultOf(good(), 0), "in vain": {Sent: 1, Delivered: 1, Kills: kills, Off: []string{"did not come"}},
	} {
		if r.OK() {
			t.Errorf("%s went unseen", name)
		}
	}
}
