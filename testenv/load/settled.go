package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// Checkpoint is the product after so many settled messages: delivered and acknowledged.
type Checkpoint struct {
	Settled     int     `json:"settled"`
	ResidentMiB float64 `json:"resident_mib"`
	PeakMiB     float64 `json:"peak_resident_mib"` // the highest so far
	JournalMiB  float64 `json:"journal_mib"`       // files of the store
	Seconds     float64 `json:"seconds"`           // since the checkpoint before
	PerS        float64 `json:"messages_per_s"`    // since the checkpoint before
}

// Begin is one start of the node: how long until it served, and its memory then.
type Begin struct {
	Millis      float64 `json:"ms"`
	ResidentMiB float64 `json:"resident_mib"`
}

// Growth shows what settled messages cost: memory and disk at checkpoints, and starts with all of them.
type Growth struct {
	Checkpoints []Checkpoint `json:"checkpoints"` // the first is before any message
	Empty       Begin        `json:"start_empty"`
	Killed      Begin        `json:"start_after_sigkill"`
	Stopped     Begin        `json:"start_after_sigterm"`
}

// Settle sends messages to one node in steps until total are delivered and acknowledged. Then it ends the node in both
// ways and starts it again. What was measured is returned with any error.
func Settle(ctx context.Context, p *Product, total, steps int, dir string, progress func(text string)) (g *Growth, err error) {
	g = &Growth{}
	dir, err = os.MkdirTemp(dir, "fleet-bench-")
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, p.Stop(ctx), os.RemoveAll(dir)) }()
	return g, g.measure(ctx, p, total, steps, dir, progress)
}

func (g *Growth) measure(ctx context.Context, p *Product, total, steps int, dir string, progress func(text string)) error {
	target, err := p.Start(ctx, dir)
	if err != nil {
		return err
	}
	if g.Empty, err = p.begin(ctx, p.nodes[0].Stop); err != nil {
		return err
	}
	progress(g.add(p, Measured{}))
	for step := range steps {
		m, err := p.settle(ctx, target, total*(step+1)/steps-total*step/steps)
		if err != nil {
			return err
		}
		progress(g.add(p, m))
	}
	progress("ending the node with SIGKILL, then with SIGTERM")
	if g.Killed, err = p.begin(ctx, func(context.Context) error { return p.nodes[0].Proc.Kill() }); err != nil {
		return err
	}
	g.Stopped, err = p.begin(ctx, p.nodes[0].Stop)
	return err
}

// settle sends so many messages and waits until the node has let go of every name of this step: the next one uses them
// again.
func (p *Product) settle(ctx context.Context, t Target, messages int) (Measured, error) {
	m, err := Generate(ctx, t, Shapes()[2], Length{Messages: messages}, nil, nil)
	if err != nil {
		return m, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return m, p.nodes[0].Online(ctx, 0)
}

// add notes a checkpoint and returns it in one line, for progress.
func (g *Growth) add(p *Product, m Measured) string {
	u := UsageOf(p.PIDs())
	c := Checkpoint{
		Settled: m.Finished, ResidentMiB: mib(u.RSS), PeakMiB: mib(u.PeakRSS),
		JournalMiB: mib(filesOf(filepath.Join(p.nodes[0].Dir, "journal"))), Seconds: m.Seconds, PerS: m.PerS,
	}
	if n := len(g.Checkpoints); n > 0 {
		c.Settled += g.Checkpoints[n-1].Settled
	}
	g.Checkpoints = append(g.Checkpoints, c)
	return fmt.Sprintf(
		"%9d settled  %6.0f MiB resident  %7.0f MiB of journal  %8.0f msgs/s", c.Settled, c.ResidentMiB, c.JournalMiB, c.PerS,
	)
}

// WriteText prints a row for each checkpoint and one for each start.
func (g *Growth) WriteText(w io.Writer) error {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "settled\tresident MiB\tpeak MiB\tjournal MiB\tseconds\tmsgs/s\t")
	for _, c := range g.Checkpoints {
		fmt.Fprintf(t, "%d\t%.0f\t%.0f\t%.1f\t%.1f\t%.0f\t\n", c.Settled, c.ResidentMiB, c.PeakMiB, c.JournalMiB, c.Seconds, c.PerS)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range []struct {
		after string
		begin Begin
	}{{"empty", g.Empty}, {"with all, after SIGKILL", g.Killed}, {"with all, after SIGTERM", g.Stopped}} {
		if s.begin.Millis == 0 {
			continue // it did not come to that
		}
		fmt.Fprintf(&text, "start %-24s %6.0f ms, %.0f MiB resident\n", s.after, s.begin.Millis, s.begin.ResidentMiB)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// begin ends the first node in the way given and measures its next start.
func (p *Product) begin(ctx context.Context, end func(context.Context) error) (Begin, error) {
	if err := end(ctx); err != nil {
		return Begin{}, err
	}
	start := time.Now()
	if err := p.nodes[0].Start(ctx); err != nil {
		return Begin{}, err
	}
	took := time.Since(start)
	return Begin{Millis: ms(took), ResidentMiB: mib(UsageOf(p.PIDs()).RSS)}, nil
}
