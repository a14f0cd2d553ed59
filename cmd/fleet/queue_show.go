package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) queueShowCommand() *cobra.Command {
	var after uint64
	var limit int
	cmd := &cobra.Command{
		Use:   "show HUB",
		Short: "Each message that waits for one hub",
		Long:  `The messages that wait for one peer, in the order in which they go out, without their bodies.`,
		Example: `  fleet queue show partner.example
  fleet queue show partner.example --after 1200 --limit 50`,
		Args: one("one hub id"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if limit < 1 || limit > node.MaxQueueRows {
				return usage("--limit is a number from 1 to %d", node.MaxQueueRows)
			}
			return a.connect(ctx, func(c *node.Client) error {
				q, err := c.QueueOf(ctx, args[0], after, limit)
				if err != nil {
					return err
				}
				return a.print(q, func(w io.Writer) error { return writeQueue(w, q) })
			})
		}),
	}
	cmd.Flags().Uint64Var(&after, "after", 0, "only those after this number of the lane")
	cmd.Flags().IntVar(&limit, "limit", 100, "at most so many")
	a.jsonFlag(cmd)
	return cmd
}

// unconfirmedText says of the messages that may have left why they have no end by age, and what ends them.
func unconfirmedText(q node.Queue) string {
	if q.Records == 0 || q.Sent <= q.Acked {
		return ""
	}
	n := node.Count(q.Sent-q.Acked, "message")
	if q.Up {
		return n + " may have left, all that waits while the link is up: each ends when " + string(q.Peer) + " answers for it"
	}
	return n + " may have left on a link that ended before an answer, so no age ends any of them: when the link is up, what " +
		string(q.Peer) + " lacks is sent again, and its answer ends each"
}

func writeQueue(w io.Writer, q node.QueueRecords) error {
	t := table{w: w}
	t.row("hub", string(q.Peer))
	t.row("waiting", fmt.Sprintf("%d of at most %d, %s of at most %s", q.Records, q.MaxRecords, bytesText(q.Bytes), bytesText(q.MaxBytes)))
	t.row("for", waitsFor(q.Queue))
	if q.UntilUS > 0 {
		t.row("until", clock(q.UntilUS)+", when the oldest that never left is given up")
	}
	if text := unconfirmedText(q.Queue); text != "" {
		t.row("unconfirmed", text)
	}
	t.row("tried", times(uint64(q.LinkAttempts))+" in vain")
	if t.err != nil || len(q.Rows) == 0 {
		return t.err
	}
	rows := [][]string{{"LANE", "SEQ", "KIND", "FROM", "TO", "BYTES", "AGE", "UNTIL", "STATE"}}
	for _, r := range q.Rows {
		rows = append(rows, []string{number(r.LaneSeq), number(r.Seq), r.Kind, r.Sender, r.Target, number(r.Bytes), age(r.AcceptedUS), until(r.UntilUS), string(r.State)})
	}
	if err := writeColumns(w, rows); err != nil {
		return err
	}
	last := q.Rows[len(q.Rows)-1].LaneSeq
	if last < q.Head {
		_, err := fmt.Fprintf(w, "and %d more, after %d\n", q.Head-last, last)
		return err
	}
	return nil
}
