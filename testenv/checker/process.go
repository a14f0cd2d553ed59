package checker

import (
	"context"
	"fmt"
	"strings"

	"fleetrelay/testenv/process"
)

// Verdict is what the checker said as a process of its own.
type Verdict struct {
	Report   *Report
	Text     string // for people
	ExitCode int
}

// OK says that every promise was kept.
func (v *Verdict) OK() bool { return v.ExitCode == 0 && v.Report.OK() }

// Judge runs the checker of the binary on the evidence. An error means that there is no verdict.
func Judge(ctx context.Context, binary string, in Input) (*Verdict, error) {
	args := []string{"testing__check", "--clients", in.ClientsDir, "--min-accepted", fmt.Sprint(in.MinAccepted)}
	for _, path := range in.Exports {
		args = append(args, "--export", path)
	}
	text, _, _, err := process.Run(ctx, binary, nil, args...)
	if err != nil {
		return nil, err
	}
	line, diag, code, err := process.Run(ctx, binary, nil, append(args, "--json")...)
	if err != nil {
		return nil, err
	}
	report, err := ParseReport([]byte(strings.TrimSpace(line)))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, diag)
	}
	return &Verdict{Report: report, Text: text, ExitCode: code}, nil
}
