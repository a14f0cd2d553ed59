package demo

import (
	"context"
	"fmt"
	"strings"

	"fleetrelay/testenv/checker"
	"fleetrelay/testenv/process"
)

// Result is the run's answer: what the checker counted, and how many nodes were killed.
type Result struct {
	Sent      int `json:"sent"`
	Delivered int `json:"delivered"`
	Lost      int `json:"lost"`
	Doubled   int `json:"doubled"`
	Kills     int `json:"kills"`
	// Off says in one line each what else is wrong; empty in a good run.
	Off []string `json:"off,omitzero"`
}

// OK says that nothing is off.
func (r Result) OK() bool {
	return len(r.Off) == 0 && r.Lost == 0 && r.Doubled == 0 && r.Kills == kills && r.Sent > 0 && r.Delivered == r.Sent
}

// judge runs the checker as a process over the agents' logs and the exports.
func judge(ctx context.Context, binary, clients string, exports []string) (Result, error) {
	args := []string{"testing__check", "--json", "--clients", clients}
	for _, e := range exports {
		args = append(args, "--export", e)
	}
	out, errText, code, err := process.Run(ctx, binary, nil, args...)
	if err != nil {
		return Result{}, err
	}
	report, err := checker.ParseReport([]byte(strings.TrimSpace(out)))
	if err != nil {
		return Result{}, fmt.Errorf("the checker's report (exit %d, %s): %w", code, errText, err)
	}
	return resultOf(report, code), nil
}

func resultOf(report *checker.Report, code int) Result {
	r := Result{
		Sent: report.Totals.Sent, Delivered: report.Totals.Delivered,
		Lost: report.Counts[checker.AcceptedLost], Doubled: report.Counts[checker.DeliveredTwice],
	}
	for _, word := range checker.Words() {
		if n := report.Counts[word]; n > 0 && word != checker.AcceptedLost && word != checker.DeliveredTwice {
			r.Off = append(r.Off, fmt.Sprintf("%s: %d", word, n))
		}
	}
	for _, why := range report.Incomplete {
		r.Off = append(r.Off, "incomplete: "+why)
	}
	if code != 0 && len(r.Off) == 0 && r.Lost == 0 && r.Doubled == 0 {
		r.Off = append(r.Off, fmt.Sprintf("the checker exited %d", code))
	}
	return r
}
