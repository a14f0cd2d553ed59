package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/testenv/app"
	"fleetrelay/testenv/checker"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/process"
)

// Options describe one run. Binary and Dir are required.
type Options struct {
	Binary   string // the product
	Dir      string // folder of the run; its files are evidence and stay
	Messages int    // across, each way; 0 is 1,000
	Senders  int    // per node; 0 is 8
	Kills    int    // SIGKILLs
	Seed     uint64
	Fault    string // planted into both nodes, "" for none
	// Quiet is how long nothing may come before the run stops waiting for what is missing; 0 is 5 s.
	Quiet time.Duration
}

// recoveryPeek bounds how long a node may recover before it is killed again.
const recoveryPeek = 25 * time.Millisecond

// Result is one run and its verdict.
type Result struct {
	Seed     uint64          `json:"seed"`
	Fault    string          `json:"fault,omitzero"`
	Kills    int             `json:"kills"`
	Seconds  float64         `json:"seconds"`
	PerS     float64         `json:"messages_per_s"` // accepted, from the first to the last
	Report   *checker.Report `json:"report"`
	Unclean  []string        `json:"unclean,omitzero"` // nodes that did not end by themselves at the end
	Verdict  string          `json:"verdict"`          // of the checker, for people
	ExitCode int             `json:"checker_exit_code"`
}

// OK says that every promise was kept and both nodes ended by themselves.
func (r *Result) OK() bool { return r.ExitCode == 0 && r.Report.OK() && len(r.Unclean) == 0 }

func (o *Options) withDefaults() {
	if o.Messages == 0 {
		o.Messages = 1000
	}
	if o.Senders == 0 {
		o.Senders = 8
	}
	if o.Quiet == 0 {
		o.Quiet = 5 * time.Second
	}
}

// run is one run in progress.
type run struct {
	o       Options
	nodes   []*cluster.Node
	senders []*app.App // of both nodes, alternating
	readers []*app.App // the partner of senders[i] has the number i^1: it is on the other node
	total   app.Counts
	kills   int
}

// Run runs once. An error means that the run could not be carried out; broken promises are in the result.
func Run(ctx context.Context, o Options) (res *Result, err error) {
	o.withDefaults()
	r := &run{o: o}
	defer func() { err = errors.Join(err, r.cleanUp()) }()
	begin := time.Now()
	if err := r.setUp(ctx); err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	sending := time.Now()
	if err := r.trafficOrStall(ctx); err != nil {
		return nil, fmt.Errorf("traffic: %w", err)
	}
	perS := float64(r.total.Accepted.Load()) / time.Since(sending).Seconds()
	if err := r.drain(ctx); err != nil {
		return nil, fmt.Errorf("drain: %w", err)
	}
	res = &Result{Seed: o.Seed, Fault: o.Fault, Kills: r.kills, PerS: perS}
	if err := r.judge(ctx, res); err != nil {
		return nil, err
	}
	res.Seconds = time.Since(begin).Seconds()
	return res, nil
}

// rng is the random source for one purpose of the run.
func (r *run) rng(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(r.o.Seed, purpose)) }

func (r *run) setUp(ctx context.Context) error {
	var fault []string
	if r.o.Fault != "" {
		fault = []string{"--testing__fault", r.o.Fault}
	}
	for _, hub := range []string{"atlas.example", "borea.example"} {
		n, err := cluster.Make(ctx, cluster.Options{Binary: r.o.Binary, Hub: hub, Dir: r.o.Dir, Args: fault})
		if err != nil {
			return err
		}
		r.nodes = append(r.nodes, n)
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	if err := cluster.Join(ctx, r.nodes[0], r.nodes[1], project+"/*"); err != nil {
		return err
	}
	return r.people(ctx)
}

// people makes the applications. Every second reader begins offline.
func (r *run) people(ctx context.Context) error {
	logs := filepath.Join(r.o.Dir, clientsDir)
	for i := range 2 * r.o.Senders {
		n := r.nodes[i%2]
		s, err := app.New(n, fmt.Sprintf("%s/s%d", project, i/2), logs, &r.total)
		if err != nil {
			return err
		}
		r.senders = append(r.senders, s)
		reader, err := app.New(n, fmt.Sprintf("%s/r%d", project, i/2), logs, &r.total)
		if err != nil {
			return err
		}
		r.readers = append(r.readers, reader)
		if err := s.Join(ctx); err != nil {
			return err
		}
		if i/2%2 == 0 {
			if err := reader.Join(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// share is how many messages sender number i sends across.
func (r *run) share(i int) int {
	share := r.o.Messages / r.o.Senders
	if i/2 < r.o.Messages%r.o.Senders {
		share++
	}
	return share
}

// expected is how many messages the applications hand over in all.
func (r *run) expected() (n int64) {
	for i := range r.senders {
		n += int64(perSender(r.share(i)))
	}
	return n
}

// faultPatience bounds the traffic of a run with a planted fault: a node that forgets what it told gives numbers twice, and
// a sender may then wait for ever. What was told until then is judged.
const faultPatience = 15 * time.Second

// perMessage is added to it for each message.
const perMessage = 4 * time.Millisecond

// trafficOrStall is traffic; with a planted fault a stall ends it, and nodes that were down are started again.
func (r *run) trafficOrStall(ctx context.Context) error {
	if r.o.Fault == "" {
		return r.traffic(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, faultPatience+time.Duration(r.o.Messages)*perMessage)
	defer cancel()
	err := r.traffic(bounded)
	if err == nil || bounded.Err() == nil || ctx.Err() != nil {
		return err
	}
	for _, n := range r.nodes {
		select {
		case <-n.Proc.Done():
			if err := n.Start(ctx); err != nil {
				return err
			}
		default:
		}
	}
	return nil
}

// traffic sends everything while nodes are killed.
func (r *run) traffic(ctx context.Context) error {
	var idle atomic.Bool
	k := &killer{nodes: r.nodes, readers: r.readers, total: &r.total, idle: &idle}
	plans := drawPlans(r.rng(0), r.o.Kills, len(r.readers), r.expected())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return k.run(ctx, plans) })
	g.Go(func() error {
		defer idle.Store(true)
		return r.sendAll(ctx)
	})
	err := g.Wait()
	r.kills = k.kills
	return err
}

func (r *run) sendAll(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range r.senders {
		g.Go(func() error {
			return send(ctx, s, r.rng(uint64(1+i)), r.share(i), r.readers[i].Seat, r.nodes[1-i%2])
		})
	}
	return g.Wait()
}

// drain brings everybody online and waits until everything has arrived or nothing more comes. What then is missing is the
// checker's to find.
func (r *run) drain(ctx context.Context) error {
	for _, a := range r.readers {
		if !a.Online() {
			if err := a.Join(ctx); err != nil {
				return err
			}
		}
	}
	r.total.Touch()
	want := r.expected()
	return process.Poll(ctx, func() error {
		got, owed := r.total.Delivered.Load(), r.total.Owed.Load()
		if (got < want || owed > 0) && r.total.Quiet() < r.o.Quiet {
			return fmt.Errorf("%d of %d messages have arrived, %d receipts are owed", got, want, owed)
		}
		return nil
	})
}

// judge ends everything, exports both journals and runs the checker.
func (r *run) judge(ctx context.Context, res *Result) error {
	for _, a := range append(r.senders, r.readers...) {
		if err := a.Close(); err != nil {
			return err
		}
	}
	r.senders, r.readers = nil, nil
	in := checker.Input{ClientsDir: filepath.Join(r.o.Dir, clientsDir), MinAccepted: r.o.Messages}
	for _, n := range r.nodes {
		if err := n.Stop(ctx); err != nil {
			res.Unclean = append(res.Unclean, err.Error())
		}
		path, err := n.Export(ctx)
		if err != nil {
			return err
		}
		in.Exports = append(in.Exports, path)
	}
	v, err := checker.Judge(ctx, r.o.Binary, in)
	if err != nil {
		return err
	}
	res.Verdict, res.ExitCode, res.Report = v.Text, v.ExitCode, v.Report
	return nil
}

// cleanUp ends what still runs after a failure.
func (r *run) cleanUp() error {
	var errs []error
	for _, a := range append(r.senders, r.readers...) {
		errs = append(errs, a.Close())
	}
	for _, n := range r.nodes {
		errs = append(errs, n.Proc.Kill())
	}
	return errors.Join(errs...)
}
