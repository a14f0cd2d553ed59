package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/doctor"
	"fleetrelay/hub/wire"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [HUB]",
		Short: "Look for what keeps this node, or its link to one hub, from working",
		Long: `Look at this node's folder, key, certificate, disk and links; with a hub also at the way to it: each of its endpoints'
name, whether UDP reaches a QUIC server there, each judgement of the handshake (pin, hub id, key usage, dates), whether that
hub takes this node, and the link. Each step is ok, failed with the reason and what helps, or skipped.

Nothing is changed and no message is sent. The exit code is 1 if a step failed.`,
		Example: `  fleet doctor
  fleet doctor partner.example`,
		Args: atMostOne("one hub id"),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			o, err := a.options(nil)
			if err != nil {
				return err
			}
			report, err := doctor.Run(ctx, doctor.Options{Node: o, Peer: strings.Join(args, "")})
			if err != nil {
				return err
			}
			for i := range report.Steps {
				report.Steps[i].Command = forFolder(cmd.Root(), report.Steps[i].Next, a.folderToName())
			}
			if err := a.print(report, func(w io.Writer) error { return writeExam(w, report) }); err != nil {
				return err
			}
			if count, first := report.Wanting(); count > 0 {
				return &wanting{wire.ReasonCheckFailed, fmt.Sprintf("%d of %d steps found something wanting, the first is %s", count, len(report.Steps), first.Name), first.Next}
			}
			return nil
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

// together makes one step of those that were skipped one after the other for one cause.
func together(steps []doctor.Step) (out []doctor.Step) {
	for _, s := range steps {
		if last := len(out) - 1; last >= 0 && s.State == doctor.Skipped && out[last].State == s.State && out[last].Of == s.Of && out[last].Text == s.Text {
			out[last].Name += ", " + s.Name
			continue
		}
		out = append(out, s)
	}
	return out
}

// writeExam writes a line for each step, and for one that failed what helps.
func writeExam(w io.Writer, r doctor.Report) error {
	t := table{w: w}
	for _, s := range together(r.Steps) {
		text := s.Text
		if s.Of != "" {
			text = s.Of + ": " + text
		}
		t.row(string(s.State), fmt.Sprintf("%-12s %s", s.Name, cmp.Or(text, "-")))
		if s.State == doctor.Failed {
			t.row("", fmt.Sprintf("%-12s %s", "reason", s.Reason))
			t.row("", fmt.Sprintf("%-12s %s", "next", s.Command))
		}
	}
	return t.err
}
