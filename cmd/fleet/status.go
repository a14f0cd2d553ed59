package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/journal"
)

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "What this node is and does now",
		Long: `What this node is and does now: its hub id and pin (which a partner needs), addresses, who is online, and for
each peer the link and what waits. On a stopped node the answer comes from its folder.`,
		Example: `  fleet status
  fleet status --json | jq .pin`,
		Args: nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.connect(ctx, func(c *node.Client) error {
				s, err := c.Status(ctx)
				if err != nil {
					return err
				}
				return a.print(s, func(w io.Writer) error { return writeStatus(w, s) })
			})
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

// maxNames bounds the names that are shown to people; --json has all.
const maxNames = 20

func writeStatus(w io.Writer, s node.Status) error {
	state := "stopped"
	if s.Running {
		state = fmt.Sprintf("running since %s (pid %d)", clock(s.SinceUS), s.PID)
	}
	t := table{w: w}
	t.row("hub", s.Hub)
	t.row("state", state)
	t.row("folder", s.Dir)
	t.row("pin", s.Pin)
	t.row("certificate", "ends "+clock(s.CertificateEnds))
	t.row("agents", fmt.Sprintf("%s, tls %s, tokens %s", shown("", s.Agents), yes(s.AgentsTLS), yes(s.Secured)))
	if s.Exposed() {
		t.row("warning", exposed)
	}
	t.row("links", shown("", s.Links)+" (UDP)")
	t.row("announced", strings.Join(s.Announced.Endpoints, ", "))
	if s.Announced.Warning != "" {
		t.row("", s.Announced.Warning)
	}
	t.row("online", node.Count(uint64(s.Online), "name")+", "+node.Count(uint64(s.Sockets), "socket"))
	for _, name := range s.OnlineNames[:min(len(s.OnlineNames), maxNames)] {
		t.row("", name)
	}
	if more := len(s.OnlineNames) - maxNames; more > 0 {
		t.row("", fmt.Sprintf("and %d more", more))
	}
	t.row("directed", map[bool]string{true: "to their recipients only", false: "shown to everybody"}[s.PrivateDirected])
	t.row("journal", fmt.Sprintf("%s, epoch %d, %s on disk", node.Count(s.HeadSeq, "event"), s.Epoch, bytesText(s.Journal.DiskBytes)))
	if v := s.Journal.Verified; v != nil {
		t.row("verified", verifiedLine(v))
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Refusals)) {
		t.row("refused", fmt.Sprintf("%s %d", reason, s.Refusals[reason]))
	}
	for _, p := range s.Peers {
		t.row("peer", peerLine(p))
	}
	for _, p := range s.Revoked {
		t.row("revoked", fmt.Sprintf("%s  held %d", p.Hub, p.OutHead-p.OutAcked))
	}
	if n := len(s.Waiting); n > 0 {
		t.row("pending", fmt.Sprintf("%d waiting for a decision; fleet peer pending shows who", n))
	}
	return t.err
}

// verifiedLine says how far the node has read its own journal again.
func verifiedLine(v *journal.PatrolState) string {
	switch {
	case v.Damage != "":
		return "DAMAGED, " + v.Damage
	case v.Rounds == 0:
		return node.Count(v.Through, "event") + " in the first round"
	}
	return "whole at " + clock(v.DoneUS)
}

// table writes label and value lines and keeps the first error.
type table struct {
	w   io.Writer
	err error
}

func (t *table) row(label, value string) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, "%-12s %s\n", label, value)
	}
}

// writeColumns writes rows with their columns aligned; the first row is the header.
func writeColumns(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

func clock(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05Z") }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func bytesText(n uint64) string {
	const kib = 1 << 10
	switch {
	case n >= kib*kib:
		return fmt.Sprintf("%.1f MiB", float64(n)/kib/kib)
	case n >= kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	}
	return fmt.Sprintf("%d bytes", n)
}
