package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

func (a *app) journalVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read the whole journal and say what is damaged",
		Long: `Read every event, body and table of a stopped node and say what is damaged or missing: the hash chain, digests,
gaps, tombstones, snapshots, and the head slot beside the store. Nothing is changed. Exit 1 if anything is wrong.`,
		Example: `  fleet journal verify
  fleet journal verify --json`,
		Args: nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			dir, err := a.nodeDir()
			if err != nil {
				return err
			}
			report, err := node.Verify(ctx, dir)
			if err != nil {
				return err
			}
			if err := a.print(report, func(w io.Writer) error { return writeReport(w, report) }); err != nil {
				return err
			}
			if !report.OK() {
				return &wanting{
					wire.ReasonJournalCorrupt, fmt.Sprintf("%d damaged ranges", len(report.Problems)+report.More),
					node.Advice("keep the folder, do not start the node from it, and restore it from a backup"),
				}
			}
			return nil
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

func writeReport(w io.Writer, r journal.Report) error {
	t := table{w: w}
	t.row("hub", r.Hub)
	t.row("events", fmt.Sprintf("%d, the last is %d; the head slot knows %d", r.Events, r.Head, r.Slot))
	t.row("bodies", fmt.Sprintf("%d (%s), %d purged", r.Bodies, bytesText(r.BodyBytes), r.Purged))
	t.row("chain", r.HeadChain)
	for _, p := range r.Problems {
		t.row("damaged", fmt.Sprintf("%s: %s: %s", p.Range, p.Reason, node.Plain(p.Text)))
	}
	if r.More > 0 {
		t.row("damaged", fmt.Sprintf("and %d more ranges", r.More))
	}
	if r.OK() {
		t.row("verdict", "everything verifies")
	}
	return t.err
}
