package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// IdleOptions say whom to measure. Binary is required.
type IdleOptions struct {
	Binary   string
	Agents   []int         // each number with a node of its own
	Settle   time.Duration // pause before memory is looked at
	Span     time.Duration // of idling
	Dir      string        // folders of the runs are made here, and removed; "" is the system's
	Progress func(text string)
}

// IdleRow is one node with so many agents that are only there.
type IdleRow struct {
	Agents      int     `json:"agents"`
	EmptyMiB    float64 `json:"empty_resident_mib"`
	EmptyCPU    float64 `json:"empty_cpu_percent_of_a_core"`
	ResidentMiB float64 `json:"resident_mib"`
	PerAgentKiB float64 `json:"kib_per_agent"`
	Goroutines  float64 `json:"goroutines_per_agent,omitzero"` // where the system lets them be counted
	CPUPercent  float64 `json:"cpu_percent_of_a_core"`
	JoinSeconds float64 `json:"join_seconds"`
	Joining     Told    `json:"presence_while_joining"`
	Coalesced   bool    `json:"coalesced"` // Joining counts only what was told above plainNames names
	IdleFrames  float64 `json:"presence_per_agent_idle"`
}

// Told is what the agents were told about each other.
type Told struct {
	PerAgent float64 `json:"frames_per_agent"`
	Most     int     `json:"most_in_a_second"` // of any one agent
	ClosestS float64 `json:"closest_s"`        // two frames of one agent
}

// Idle is the whole table.
type Idle struct {
	Rows []IdleRow `json:"rows"`
}

// spareFiles is what a process needs beside its sockets.
const spareFiles = 128

// coalescing is within which the last change has been told to everybody.
const coalescing = 3 * time.Second

// ErrTooFewFiles says that this machine lets a process open too few files.
var ErrTooFewFiles = errors.New("too few open files")

func enoughFiles(agents int, limit uint64) error {
	need := agents + spareFiles
	if uint64(need) <= limit {
		return nil
	}
	return fmt.Errorf("%w: %d agents need %d in each of two processes, and the hard limit is %d", ErrTooFewFiles, agents, need, limit)
}

// MeasureIdle measures one number of agents after the other. What was measured is returned with any error.
func MeasureIdle(ctx context.Context, o IdleOptions) (*Idle, error) {
	all := &Idle{}
	for _, agents := range o.Agents {
		if limit, known := openFiles(); known {
			if err := enoughFiles(agents, limit); err != nil {
				return all, err
			}
		}
	}
	for _, agents := range o.Agents {
		row, err := o.measure(ctx, agents)
		if err != nil {
			return all, err
		}
		all.Rows = append(all.Rows, row)
		if row.Coalesced && row.Joining.Most > 1 {
			return all, fmt.Errorf("an agent got %d presence_update frames within a second above %d names", row.Joining.Most, plainNames)
		}
	}
	return all, nil
}

func (o *IdleOptions) measure(ctx context.Context, agents int) (row IdleRow, err error) {
	dir, err := os.MkdirTemp(o.Dir, "fleet-bench-")
	if err != nil {
		return row, err
	}
	p := &Product{Binary: o.Binary, Hops: 1, Env: []string{"FLEET_LIMITS_SOCKETS=" + strconv.Itoa(max(16384, agents+1))}}
	defer func() { err = errors.Join(err, p.Stop(ctx), os.RemoveAll(dir)) }()
	target, err := p.Start(ctx, dir)
	if err != nil {
		return row, err
	}
	row.Agents = agents
	if err := o.empty(ctx, p, &row); err != nil {
		return row, err
	}
	c := newCrowd(target.Senders, agents)
	defer c.leave()
	if err := o.join(ctx, c, &row); err != nil {
		return row, err
	}
	if err := o.idle(ctx, p, c, &row); err != nil {
		return row, err
	}
	row.Goroutines, err = p.goroutines(ctx)
	row.Goroutines /= float64(agents)
	return row, err
}

// empty looks at the node before anybody comes.
func (o *IdleOptions) empty(ctx context.Context, p *Product, row *IdleRow) error {
	if err := after(ctx, o.Settle, nil); err != nil {
		return err
	}
	pause := func() error { return after(ctx, o.Settle, nil) }
	used, share, err := p.during(pause)
	row.EmptyMiB, row.EmptyCPU = mib(used.RSS), share
	return err
}

// during is what the node has used after something, and its share of a core meanwhile in per cent.
func (p *Product) during(something func() error) (used Usage, share float64, err error) {
	start, before := time.Now(), UsageOf(p.PIDs())
	err = something()
	used = UsageOf(p.PIDs())
	return used, 100 * float64(used.CPU-before.CPU) / float64(time.Since(start)), err
}

// join lets the agents come. Above plainNames names only what was told then counts, for there the hub promises to be
// brief.
func (o *IdleOptions) join(ctx context.Context, c *crowd, row *IdleRow) error {
	agents := len(c.members)
	o.Progress(fmt.Sprintf("%d agents join", agents))
	start := time.Now()
	plain := min(agents, plainNames)
	if err := c.join(ctx, 0, plain); err != nil {
		return err
	}
	if row.Coalesced = agents > plain; row.Coalesced {
		if err := c.again(ctx); err != nil {
			return err
		}
		if err := c.join(ctx, plain, agents); err != nil {
			return err
		}
	}
	row.JoinSeconds = time.Since(start).Seconds()
	pause := o.Settle
	if row.Coalesced {
		pause = max(pause, coalescing)
	}
	return c.beat(ctx, pause)
}

// idle lets the agents be.
func (o *IdleOptions) idle(ctx context.Context, p *Product, c *crowd, row *IdleRow) error {
	told := c.told()
	row.Joining = Told{PerAgent: float64(told.frames) / float64(row.Agents), Most: told.most}
	if told.closest < noDistance {
		row.Joining.ClosestS = float64(told.closest) / 1e6
	}
	o.Progress(fmt.Sprintf("%d agents idle for %v", row.Agents, o.Span))
	used, share, err := p.during(func() error { return c.beat(ctx, o.Span) })
	if err != nil {
		return err
	}
	row.ResidentMiB, row.CPUPercent = mib(used.RSS), share
	row.PerAgentKiB = (row.ResidentMiB - row.EmptyMiB) * 1024 / float64(row.Agents)
	row.IdleFrames = float64(c.told().frames-told.frames) / float64(row.Agents)
	return nil
}

// goroutines counts the node's goroutines in the traces it prints when it is told to quit, and so ends it.
func (p *Product) goroutines(ctx context.Context) (float64, error) {
	proc := p.nodes[0].Proc
	node, err := os.FindProcess(proc.PID())
	if err != nil {
		return 0, err
	}
	if err := node.Signal(syscall.SIGQUIT); err != nil {
		return 0, nil // a system without that signal
	}
	p.nodes = nil // it does not end well
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := proc.Wait(ctx); err != nil {
		return 0, errors.Join(err, proc.Kill())
	}
	return float64(strings.Count(proc.Stderr(), "\ngoroutine ")), nil
}

// WriteText prints a row for each number of agents.
func (i *Idle) WriteText(w io.Writer) error {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "agents\tempty MiB\tresident MiB\tKiB/agent\tgoroutines/agent\tCPU % empty\tCPU % idle\tjoin s\tpresence/agent joining\tmost a second\tclosest s\tpresence/agent idle\t")
	for _, r := range i.Rows {
		brief := "-\t-"
		if r.Coalesced {
			brief = fmt.Sprintf("%d\t%.2f", r.Joining.Most, r.Joining.ClosestS)
		}
		fmt.Fprintf(
			t, "%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.1f\t%.1f\t%s\t%.2f\t\n", r.Agents, r.EmptyMiB, r.ResidentMiB,
			r.PerAgentKiB, r.Goroutines, r.EmptyCPU, r.CPUPercent, r.JoinSeconds, r.Joining.PerAgent, brief, r.IdleFrames,
		)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}
