package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/hub/journal"
	"fleetrelay/testenv/app"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/failpoint"
	"fleetrelay/testenv/process"
)

// plan is what the seed decides about one moment of the run.
type plan struct {
	at        int64  // this many messages accepted
	victims   []int  // nodes, killed together
	downFor   int64  // so many more accepted elsewhere before they are started again
	again     bool   // killed once more while it starts
	point     string // the first victim ends by itself at this fail-point in a life of its own, "" for none
	wanderers []int  // readers that change between online and offline before the kill
}

// drawPlans spreads the kills over the run. The number of SIGKILLs is exactly kills.
func drawPlans(rng *rand.Rand, kills, readers int, total int64) []plan {
	var plans []plan
	for left := kills; left > 0; {
		p := plan{at: total/50 + rng.Int64N(max(total*9/10, 1)), victims: []int{rng.IntN(2)}, downFor: rng.Int64N(total/40 + 1)}
		switch {
		case left >= 2 && rng.IntN(6) == 0:
			p.victims = []int{0, 1}
		case left >= 2 && rng.IntN(5) == 0:
			p.again = true
		case left >= 2 && rng.IntN(3) > 0:
			p.point = drawPoint(rng)
		}
		for range rng.IntN(3) {
			p.wanderers = append(p.wanderers, rng.IntN(readers))
		}
		left -= p.kills()
		plans = append(plans, p)
	}
	slices.SortFunc(plans, func(a, b plan) int { return int(a.at - b.at) })
	return plans
}

func (p *plan) kills() int {
	n := len(p.victims)
	if p.again || p.point != "" {
		n++
	}
	return n
}

// lastPoint bounds the hit at which a fail-point fires: a life of some hundred turns reaches it.
const lastPoint = 60

// drawPoint is one of the journal's fail-points that a life with traffic passes.
func drawPoint(rng *rand.Rand) string {
	points := []string{
		journal.PointStoreOpen, journal.PointStoreOpened, journal.PointApplyBefore, journal.PointApplyAfter,
		journal.PointSyncBefore, journal.PointSyncAfter, journal.PointHeadWrite, journal.PointHeadSync, journal.PointSnapshotApply,
	}
	p := failpoint.Point{Name: points[rng.IntN(len(points))], Hit: 1, Action: failpoint.Kill}
	if p.Name != journal.PointStoreOpen && p.Name != journal.PointStoreOpened {
		p.Hit += rng.Uint64N(lastPoint)
	}
	return p.String()
}

// killer carries out the plans while the senders send.
type killer struct {
	nodes   []*cluster.Node
	readers []*app.App
	total   *app.Counts
	idle    *atomic.Bool // the senders have nothing more to send: no further progress will come
	kills   int
}

func (k *killer) run(ctx context.Context, plans []plan) error {
	for i := range plans {
		p := &plans[i]
		if err := k.await(ctx, p.at); err != nil {
			return err
		}
		for _, number := range p.wanderers {
			if err := k.toggle(ctx, k.readers[number]); err != nil {
				return err
			}
		}
		if err := k.kill(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// await waits for progress, or for its end.
func (k *killer) await(ctx context.Context, accepted int64) error {
	return process.Poll(ctx, func() error {
		if now := k.total.Accepted.Load(); now < accepted && !k.idle.Load() {
			return fmt.Errorf("%d of %d messages are accepted", now, accepted)
		}
		return nil
	})
}

// standstill is how long nothing is accepted before it is clear that the survivor has nothing more to accept.
const standstill = 200 * time.Millisecond

// awaitOthers waits for progress on the surviving node, or for its end.
func (k *killer) awaitOthers(ctx context.Context, accepted int64) error {
	last, since := k.total.Accepted.Load(), time.Now()
	return process.Poll(ctx, func() error {
		now := k.total.Accepted.Load()
		if now != last {
			last, since = now, time.Now()
		}
		if now < accepted && time.Since(since) < standstill {
			return fmt.Errorf("%d of %d messages are accepted", now, accepted)
		}
		return nil
	})
}

// toggle lets a reader leave, or come back while its node may be dead.
func (k *killer) toggle(ctx context.Context, a *app.App) error {
	if a.Online() {
		return a.Leave()
	}
	return a.Join(ctx)
}

func (k *killer) kill(ctx context.Context, p *plan) error {
	for _, v := range p.victims {
		if err := k.nodes[v].Proc.Kill(); err != nil {
			return err
		}
		k.kills++
	}
	if len(p.victims) < len(k.nodes) {
		if err := k.awaitOthers(ctx, k.total.Accepted.Load()+p.downFor); err != nil {
			return err
		}
	}
	if p.again {
		if err := k.killStarting(k.nodes[p.victims[0]]); err != nil {
			return err
		}
	}
	if p.point != "" {
		if err := k.liveUntil(ctx, k.nodes[p.victims[0]], p.point); err != nil {
			return err
		}
	}
	var g errgroup.Group
	for _, v := range p.victims {
		g.Go(func() error { return k.nodes[v].Start(ctx) })
	}
	return g.Wait()
}

// liveUntil gives a node one life that ends at a fail-point. When the traffic does not reach it, it is killed from outside.
func (k *killer) liveUntil(ctx context.Context, n *cluster.Node, point string) error {
	if err := n.Proc.Launch("--testing__failpoint", point); err != nil {
		return err
	}
	last, since := k.total.Accepted.Load(), time.Now()
	err := process.Poll(ctx, func() error {
		select {
		case <-n.Proc.Done():
			return nil
		default:
		}
		if now := k.total.Accepted.Load(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < standstill {
			return fmt.Errorf("%s has not met %s", n.Hub, point)
		}
		return nil
	})
	if err != nil {
		return err
	}
	k.kills++
	return n.Proc.Kill()
}

// killStarting kills a node in the middle of its recovery: as soon as it has printed anything, or ended.
func (k *killer) killStarting(n *cluster.Node) error {
	if err := n.Proc.Launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), recoveryPeek)
	defer cancel()
	err := process.Poll(ctx, func() error {
		if n.Proc.Stderr() == "" && n.Proc.Stdout() == "" {
			return errors.New("silent")
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	k.kills++
	return n.Proc.Kill()
}
