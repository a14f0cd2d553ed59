package cut

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
	"fleetrelay/testenv/faults"
	"fleetrelay/testenv/process"
)

// Options describe one run. Binary and Dir are required.
type Options struct {
	Binary string // the product
	Dir    string // folder of the run; its files are evidence and stay
	Cuts   int    // long ones, over all pairs
	Pairs  int    // of nodes; 0 is 1
	Least  int64  // messages of each pair: the senders go on until so many were handed over
	Seed   uint64
	Fault  string // planted into all nodes, "" for none
	// Quiet is how long nothing may come before the run stops waiting for what is missing; 0 is 10 s.
	Quiet time.Duration
}

// Result is what one pair went through, and the verdict.
type Result struct {
	Cuts, Short   int // the wire's, long and short
	Messages      int64
	Dark          time.Duration // in all
	DarkBytes     uint64        // sent into the dark, both directions
	PassedBytes   uint64
	Bytes         uint64 // of the messages' texts
	LinkedSinceUS int64  // when the last link began, Unix microseconds
	LastCutUS     int64  // when the last long cut fell
	Verdict       *checker.Verdict
	Unclean       []string // nodes that did not end by themselves at the end
}

// sizeOfOne is more than the bytes that one message takes on the wire on average, its acknowledgement included.
const sizeOfOne = 2 << 10

// attemptsPerS is more than the bytes a second that a node sends to get through the dark.
const attemptsPerS = 24 << 10

// Resent says whether more was sent into the dark than what may be ahead, once for each cut, and the attempts to get through
// of both nodes.
func (r *Result) Resent() bool {
	may := float64((r.Cuts+r.Short)*2*ahead*sizeOfOne) + 2*attemptsPerS*r.Dark.Seconds()
	return float64(r.DarkBytes) > may
}

// OK says that every promise was kept, that both nodes ended by themselves, and that the last long cut ended a link.
func (r *Result) OK() bool {
	return r.Verdict.OK() && len(r.Unclean) == 0 && r.LinkedSinceUS > r.LastCutUS
}

const (
	// ahead bounds the messages of a pair that were handed over and have not arrived, each way.
	ahead = 48
	// senders are the applications of each node that send, and those that receive.
	senders = 2
	// longDark is more than a link outlives in silence; its packets may wait a little before.
	longDark = 3200 * time.Millisecond
	// shortDark is less.
	shortDark = 700 * time.Millisecond
	// farthest is the largest offset of a cut in bytes.
	farthest = 128 << 10
	// patience bounds the wait for a cut to fall: the link must come back and carry so many bytes.
	patience = 60 * time.Second
)

// Run runs every pair. An error means that the run could not be carried out; broken promises are in the results.
func Run(ctx context.Context, o Options) ([]*Result, error) {
	o.Pairs = max(o.Pairs, 1)
	if o.Quiet == 0 {
		o.Quiet = 10 * time.Second
	}
	results := make([]*Result, o.Pairs)
	g, ctx := errgroup.WithContext(ctx)
	for i := range results {
		g.Go(func() (err error) {
			cuts := o.Cuts / o.Pairs
			if i < o.Cuts%o.Pairs {
				cuts++
			}
			if results[i], err = runPair(ctx, &o, i, cuts); err != nil {
				return fmt.Errorf("pair %d: %w", i, err)
			}
			return nil
		})
	}
	return results, g.Wait()
}

// pair is one pair of nodes with its wire.
type pair struct {
	o       *Options
	dir     string
	rng     *rand.Rand
	wire    *faults.Wire
	nodes   []*cluster.Node
	senders []*app.App // of both nodes, alternating; the partner of senders[i] is readers[i^1]
	readers []*app.App
	counts  app.Counts
	handed  atomic.Int64 // messages that the senders handed over
	bytes   atomic.Uint64
	done    atomic.Bool // no more cuts: the senders stop
}

// newPair prepares a pair of a number, which together with the seed decides all that is drawn for it.
func newPair(o *Options, number int, plan faults.Plan) *pair {
	p := &pair{o: o, dir: filepath.Join(o.Dir, fmt.Sprintf("pair-%d", number)), rng: rand.New(rand.NewPCG(o.Seed, uint64(number)))}
	p.wire = faults.New(p.rng.Uint64(), plan)
	return p
}

func runPair(ctx context.Context, o *Options, number, cuts int) (res *Result, err error) {
	p := newPair(o, number, faults.Bad())
	defer func() { err = errors.Join(err, p.cleanUp()) }()
	if err := p.setUp(ctx); err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	res = &Result{}
	if err := p.traffic(ctx, res, cuts); err != nil {
		return nil, fmt.Errorf("traffic: %w", err)
	}
	if err := p.drain(ctx); err != nil {
		return nil, fmt.Errorf("drain: %w", err)
	}
	return res, p.judge(ctx, res)
}

// traffic sends both ways while the wire is cut.
func (p *pair) traffic(ctx context.Context, res *Result, cuts int) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range p.senders {
		rng := rand.New(rand.NewPCG(p.o.Seed, p.rng.Uint64()))
		g.Go(func() error { return p.send(ctx, s, rng, p.readers[i^1].Address()) })
	}
	g.Go(func() error {
		defer p.done.Store(true)
		if err := p.cutAll(ctx, res, cuts); err != nil {
			return err
		}
		return p.handOver(ctx)
	})
	return g.Wait()
}

// cutAll cuts the wire so many times for long, and about half as often for a moment.
func (p *pair) cutAll(ctx context.Context, res *Result, cuts int) error {
	cut := p.drawCut()
	for res.Cuts < cuts {
		select {
		case <-cut:
		case <-time.After(patience):
			return fmt.Errorf("after %d cuts the wire was mended for %v, and the nodes did not reach the next one", res.Cuts+res.Short, patience)
		case <-ctx.Done():
			return ctx.Err()
		}
		dark := longDark
		if p.rng.IntN(3) == 0 {
			dark = time.Duration(p.rng.Int64N(int64(shortDark)))
			res.Short++
		} else {
			res.Cuts++
			res.LastCutUS = time.Now().UnixMicro()
		}
		res.Dark += dark
		select {
		case <-time.After(dark):
		case <-ctx.Done():
			return ctx.Err()
		}
		if res.Cuts < cuts {
			cut = p.drawCut()
		}
		p.wire.Mend()
	}
	return nil
}

// handOver waits until the senders have handed over as many messages as the run must have.
func (p *pair) handOver(ctx context.Context) error {
	return process.Poll(ctx, func() error {
		if handed := p.handed.Load(); handed < p.o.Least {
			return fmt.Errorf("%d of %d messages are handed over", handed, p.o.Least)
		}
		return nil
	})
}

// drawCut sets the next cut. Offsets are drawn evenly over their magnitudes: as many fall into the first kilobyte of a
// connection, where handshake and hello are, as into the last stretch.
func (p *pair) drawCut() <-chan struct{} {
	magnitude := p.rng.IntN(18) // up to 2^17, which is farthest
	n := min(int64(1)<<magnitude+p.rng.Int64N(int64(1)<<magnitude), farthest)
	return p.wire.CutAfter(faults.Direction(p.rng.IntN(2)), n)
}

// drain lets everything arrive over a good wire, or stops when nothing more comes. What then is missing is the checker's
// to find.
func (p *pair) drain(ctx context.Context) error {
	p.wire.Set(faults.Plan{})
	p.counts.Touch()
	return process.Poll(ctx, func() error {
		want, got, owed := p.handed.Load(), p.counts.Delivered.Load(), p.counts.Owed.Load()
		if (got < want || owed > 0) && p.counts.Quiet() < p.o.Quiet {
			return fmt.Errorf("%d of %d messages have arrived, %d receipts are owed", got, want, owed)
		}
		return nil
	})
}
