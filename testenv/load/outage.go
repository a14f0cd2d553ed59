package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/testenv/process"
)

// Stage is one part of an outage run: so many messages, and what both nodes used meanwhile.
type Stage struct {
	Name        string  `json:"stage"`
	Messages    int     `json:"messages"`
	Seconds     float64 `json:"seconds"`
	PerS        float64 `json:"messages_per_s"`
	CPUSeconds  float64 `json:"cpu_s"`
	WrittenMiB  float64 `json:"written_mib"`  // to the disk
	JournalMiB  float64 `json:"journal_mib"`  // by which the stores grew
	ResidentMiB float64 `json:"resident_mib"` // at the end
}

// Outage is what messages cost across a live link, while the other node is away, and when it is back.
type Outage struct {
	Stages       []Stage `json:"stages"`         // live, queued, drained
	FirstSeconds float64 `json:"first_s"`        // from the other node's return to the first message
	DrainRatio   float64 `json:"drain_to_live"`  // throughput of the drain over that of the live link
	PerMessages  int     `json:"messages_stage"` // of each stage: what CPU, bytes and memory stand for
}

// OutageOptions say how an outage is measured.
type OutageOptions struct {
	Binary   string
	Messages int // of each stage
	Receipts bool
	Dir      string // folders of the run are made here, and removed; "" is the system's
	Progress func(text string)
}

// outageWindow is the load of the stages: 64 senders with 32 messages in flight.
const (
	outageSenders = 64
	outageWindow  = 32
)

// outageRun is one measurement in progress.
type outageRun struct {
	o      *OutageOptions
	p      *Product
	t      Target
	out    *Outage
	before Usage
	files  uint64
	begun  time.Time
}

// MeasureOutage sends messages across two nodes; then, while the other node is stopped in its tracks, as many into the queue;
// and then lets it go on and measures how the queue drains. Each stage begins with nothing in flight. What was measured is
// returned with any error.
func MeasureOutage(ctx context.Context, o OutageOptions) (out *Outage, err error) {
	r := &outageRun{o: &o, p: &Product{Binary: o.Binary, Hops: 2}, out: &Outage{PerMessages: o.Messages}}
	dir, err := os.MkdirTemp(o.Dir, "fleet-bench-")
	if err != nil {
		return r.out, err
	}
	defer func() { err = errors.Join(err, r.p.Stop(ctx), os.RemoveAll(dir)) }()
	if r.t, err = r.p.Start(ctx, dir); err != nil {
		return r.out, err
	}
	if err := r.live(ctx); err != nil {
		return r.out, fmt.Errorf("live link: %w", err)
	}
	return r.out, r.outage(ctx)
}

// begin notes what the nodes have used so far.
func (r *outageRun) begin() {
	r.before, r.files, r.begun = UsageOf(r.p.PIDs()), r.journals(), time.Now()
}

// end adds a stage.
func (r *outageRun) end(name string, messages int, seconds float64) {
	now := UsageOf(r.p.PIDs())
	s := Stage{
		Name: name, Messages: messages, Seconds: seconds, PerS: float64(messages) / seconds,
		CPUSeconds: (now.CPU - r.before.CPU).Seconds(), WrittenMiB: mib(now.Written - r.before.Written),
		JournalMiB: mib(r.journals()) - mib(r.files), ResidentMiB: mib(now.RSS),
	}
	r.out.Stages = append(r.out.Stages, s)
	r.o.Progress(fmt.Sprintf("%-8s %d messages in %.2f s, %.0f msgs/s", name, messages, seconds, s.PerS))
}

func (r *outageRun) journals() (sum uint64) {
	for _, n := range r.p.nodes {
		sum += filesOf(filepath.Join(n.Dir, "journal"))
	}
	return sum
}

func (r *outageRun) live(ctx context.Context) error {
	shape := Shapes()[2]
	shape.Receipts = r.o.Receipts
	m, err := Generate(ctx, r.t, shape, Length{Messages: r.o.Messages}, r.begin, nil)
	if err != nil {
		return err
	}
	r.end("live", m.Messages, m.Seconds)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, n := range r.p.nodes {
		if err := n.Online(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// outage queues and drains.
func (r *outageRun) outage(ctx context.Context) error {
	reader, err := register(ctx, r.t.Reader, ReaderSeat)
	if err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	defer reader.close()
	far := r.p.nodes[1].Proc
	if err := far.Pause(); err != nil {
		return err
	}
	r.begin()
	if err := r.queue(ctx); err != nil {
		return errors.Join(fmt.Errorf("queue: %w", err), far.Resume())
	}
	r.end("queued", r.o.Messages, time.Since(r.begun).Seconds())
	if err := r.noticed(ctx); err != nil {
		return errors.Join(err, far.Resume())
	}
	// It stops being away for its reader as well: what it hears now is the first it hears for long.
	if err := errors.Join(reader.write(hello(ReaderSeat)), reader.flush()); err != nil {
		return err
	}
	r.begin()
	if err := far.Resume(); err != nil {
		return err
	}
	if err := r.drain(ctx, reader); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	r.out.DrainRatio = r.out.Stages[2].PerS / r.out.Stages[0].PerS
	return nil
}

// noticed waits until the node has given the link up: before, there is no outage.
func (r *outageRun) noticed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return process.Poll(ctx, func() error {
		link, err := r.p.nodes[0].Link(ctx, r.p.nodes[1].Hub)
		if err == nil && link.State == "up" {
			err = errors.New("the link is not given up")
		}
		return err
	})
}

// queue hands over all messages: each sender its share, no more than its window without the hub's answer.
func (r *outageRun) queue(ctx context.Context) error {
	extra := ""
	if r.o.Receipts {
		extra = askReceipt
	}
	g, ctx := errgroup.WithContext(ctx)
	for i := range outageSenders {
		share := r.o.Messages / outageSenders
		if i < r.o.Messages%outageSenders {
			share++
		}
		g.Go(func() error {
			ws, err := register(ctx, r.t.Senders, senderName(i))
			if err != nil {
				return err
			}
			defer ws.close()
			stop := context.AfterFunc(ctx, func() { ws.close() })
			defer stop()
			if err := handOver(ws, i, share, r.t.To, extra); err != nil {
				return fmt.Errorf("sender %d: %w", i, err)
			}
			ws.leave()
			return nil
		})
	}
	return g.Wait()
}

// handOver sends n messages and waits for the hub's answer to each.
func handOver(ws *webSocket, number, n int, to, extra string) error {
	head := chatHead(number, to, extra)
	var frame, buf []byte
	for sent, answered := 0, 0; answered < n; {
		for ; sent < n && sent-answered < outageWindow; sent++ {
			frame = fill(append(frame[:0], head...), sent%outageWindow, uint64(sent), 400)
			if err := ws.write(frame); err != nil {
				return err
			}
		}
		if err := ws.flush(); err != nil {
			return err
		}
		var err error
		if buf, err = ws.read(buf); err != nil {
			return err
		}
		from, _, ok := idOf(buf)
		switch {
		case bytes.Contains(buf[:min(len(buf), 200)], []byte(`"type":"error"`)):
			return fmt.Errorf("the hub refused a message: %s", buf)
		case ok && from == number && !isReceipt(buf):
			answered++
		}
	}
	return nil
}

// drain reads until everything that was queued is here.
func (r *outageRun) drain(ctx context.Context, reader *webSocket) error {
	stop := context.AfterFunc(ctx, func() { reader.close() })
	defer stop()
	var buf, out []byte
	var first time.Time
	for n := 0; n < r.o.Messages; {
		var err error
		if buf, err = reader.read(buf); err != nil {
			return fmt.Errorf("after %d messages: %w", n, err)
		}
		seq, ok := numberAfter(buf, []byte(`"seq":`))
		if _, _, ours := idOf(buf); !ours || !ok {
			continue
		}
		if n++; n == 1 {
			first = time.Now()
			r.out.FirstSeconds = first.Sub(r.begun).Seconds()
		}
		out = append(strconv.AppendUint(append(out[:0], ackHead...), seq, 10), '}')
		if err := reader.write(out); err != nil {
			return err
		}
		if reader.idle() {
			if err := reader.flush(); err != nil {
				return err
			}
		}
	}
	r.end("drained", r.o.Messages, time.Since(first).Seconds())
	reader.leave()
	return nil
}

// WriteText prints a row for each stage.
func (o *Outage) WriteText(w io.Writer) error {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "stage\tmessages\tseconds\tmsgs/s\tCPU s\twritten MiB\tjournals MiB\tresident MiB\t")
	for _, s := range o.Stages {
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.0f\t%.2f\t%.1f\t%.1f\t%.0f\t\n", s.Name, s.Messages, s.Seconds, s.PerS, s.CPUSeconds, s.WrittenMiB, s.JournalMiB, s.ResidentMiB)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if o.DrainRatio > 0 {
		fmt.Fprintf(&text, "first message %.2f s after the return; drain / live link %.2f\n", o.FirstSeconds, o.DrainRatio)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
