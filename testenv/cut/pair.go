package cut

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"fleetrelay/hub/client"
	"fleetrelay/testenv/app"
	"fleetrelay/testenv/checker"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/faults"
	"fleetrelay/testenv/process"
)

// setUp makes two nodes that reach each other over the wire only, and their applications.
func (p *pair) setUp(ctx context.Context) error {
	var fault []string
	if p.o.Fault != "" {
		fault = []string{"--testing__fault", p.o.Fault}
	}
	for i, hub := range []string{"atlas.example", "borea.example"} {
		n, err := cluster.Make(ctx, cluster.Options{Binary: p.o.Binary, Hub: hub, Dir: p.dir, Args: fault})
		if err != nil {
			return err
		}
		p.nodes = append(p.nodes, n)
		if n.Front, err = p.wire.Front(n.Links, faults.Direction(1-i)); err != nil {
			return err
		}
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	if err := cluster.Join(ctx, p.nodes[0], p.nodes[1], "cut/*"); err != nil {
		return err
	}
	return p.people(ctx)
}

func (p *pair) people(ctx context.Context) error {
	for i := range 2 * senders {
		for _, kind := range []string{"s", "r"} {
			a, err := app.New(p.nodes[i%2], fmt.Sprintf("cut/%s%d", kind, i/2), p.clients(), &p.counts)
			if err != nil {
				return err
			}
			if kind == "s" {
				p.senders = append(p.senders, a)
			} else {
				p.readers = append(p.readers, a)
			}
			if err := a.Join(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pair) clients() string { return filepath.Join(p.dir, "clients") }

// send hands over messages, never more ahead of what has arrived than is allowed, until there are no more cuts.
func (p *pair) send(ctx context.Context, s *app.App, rng *rand.Rand, to string) error {
	for i := 0; ; i++ {
		if err := p.mayHand(ctx); err != nil {
			return err
		}
		if p.done.Load() {
			return s.Drain(ctx)
		}
		id := fmt.Sprintf("far-%d", i)
		text := id + " " + strings.Repeat("payload ", rng.IntN(100))
		p.bytes.Add(uint64(len(text)))
		if err := s.Send(ctx, client.Message{To: to, Text: text, ClientMsgID: id, ReceiptRequested: rng.IntN(2) == 0}); err != nil {
			return err
		}
	}
}

// mayHand waits for room and takes it.
func (p *pair) mayHand(ctx context.Context) error {
	return process.Poll(ctx, func() error {
		if p.done.Load() {
			return nil
		}
		if p.handed.Add(1)-p.counts.Delivered.Load() > 2*ahead {
			p.handed.Add(-1)
			return errors.New("too many messages have not arrived")
		}
		return nil
	})
}

// judge ends everything, exports both journals and runs the checker.
func (p *pair) judge(ctx context.Context, res *Result) error {
	if err := p.closeApps(); err != nil {
		return err
	}
	res.Messages, res.Bytes = p.handed.Load(), p.bytes.Load()
	for _, d := range []faults.Direction{faults.Forth, faults.Back} {
		s := p.wire.Stats(d)
		res.DarkBytes += s.DarkBytes
		res.PassedBytes += s.PassedBytes
	}
	link, err := p.nodes[0].Link(ctx, p.nodes[1].Hub)
	if err != nil {
		return err
	}
	res.LinkedSinceUS = link.SinceUS
	in := checker.Input{ClientsDir: p.clients(), MinAccepted: 1}
	for _, n := range p.nodes {
		if err := n.Stop(ctx); err != nil {
			res.Unclean = append(res.Unclean, err.Error())
		}
		path, err := n.Export(ctx)
		if err != nil {
			return err
		}
		in.Exports = append(in.Exports, path)
	}
	res.Verdict, err = checker.Judge(ctx, p.o.Binary, in)
	return err
}

func (p *pair) closeApps() error {
	var errs []error
	for _, a := range append(p.senders, p.readers...) {
		errs = append(errs, a.Close())
	}
	p.senders, p.readers = nil, nil
	return errors.Join(errs...)
}

// cleanUp ends what still runs.
func (p *pair) cleanUp() error {
	errs := []error{p.closeApps()}
	for _, n := range p.nodes {
		errs = append(errs, n.Proc.Kill())
	}
	return errors.Join(append(errs, p.wire.Close())...)
}
