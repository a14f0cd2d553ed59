package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetrelay/testenv/cluster"
)

var errNotYet = errors.New("not yet")

// probes is how many pairs of agents exchange traffic.
const probes = 4

// inFlight is how many messages are on their way, at least, when a node is killed.
const inFlight = 3

// underFire kills each node in turn while messages go both ways.
func (r *run) underFire(ctx context.Context) error {
	r.t.head("Traffic both ways, and SIGKILLs in the middle of it.")
	t := startTraffic(ctx, r.streams())
	for i := range r.nodes {
		if err := r.kill(ctx, t, r.nodes[i], r.nodes[1-i]); err != nil {
			return errors.Join(err, t.end())
		}
	}
	r.flow(ctx, t)
	if err := t.end(); err != nil {
		return err
	}
	r.t.say("the senders stop after %d messages", t.sent())
	r.wait(ctx, "everything to arrive", func(context.Context) error {
		if t.got() < t.sent() {
			return errNotYet
		}
		return nil
	})
	r.t.say("%d received", t.got())
	return nil
}

// streams pair the probes of both sides, both ways.
func (r *run) streams() (out []*stream) {
	for i := range probes {
		a, b := r.agents[fmt.Sprintf("search/probe%d@atlas", i)], r.agents[fmt.Sprintf("build/probe%d@borea", i)]
		out = append(out, &stream{from: a, to: b}, &stream{from: b, to: a})
	}
	return out
}

// flow waits for a stretch of deliveries.
func (r *run) flow(ctx context.Context, t *traffic) {
	from := t.got()
	r.wait(ctx, "traffic", func(context.Context) error {
		if t.got() < from+beforeKill {
			return errNotYet
		}
		return nil
	})
}

// kill ends one node in mid-traffic, lets the other one accept for it meanwhile, and starts it again.
func (r *run) kill(ctx context.Context, t *traffic, victim, survivor *cluster.Node) error {
	r.flow(ctx, t)
	got, sent := 0, 0
	r.wait(ctx, "messages in flight", func(context.Context) error {
		if got, sent = t.got(), t.sent(); sent-got < inFlight {
			return errNotYet
		}
		return nil
	})
	if err := victim.Proc.Kill(); err != nil {
		return err
	}
	r.kills++
	r.t.say("SIGKILL          %s, with %d of %d messages in flight", victim.Hub, max(0, sent-got), sent)
	before := t.accepted(survivor.Hub)
	r.wait(ctx, survivor.Hub+" to go on accepting", func(context.Context) error {
		if t.accepted(survivor.Hub) < before+whileDown {
			return errNotYet
		}
		return nil
	})
	r.t.say("                 %s goes on and accepts %d for it meanwhile", survivor.Hub, t.accepted(survivor.Hub)-before)
	begun := time.Now()
	if err := victim.Start(ctx); err != nil {
		return err
	}
	r.t.say("fleet serve      %s is back (%d ms)", victim.Hub, time.Since(begun).Milliseconds())
	r.awaitLink(ctx, victim)
	return nil
}

// verdict ends everything, exports both journals, and asks the checker.
func (r *run) verdict(ctx context.Context) (Result, error) {
	r.t.head("The verdict, by a process that sees the agents' own logs and both journals.")
	for _, a := range r.agents {
		if err := a.leave(); err != nil {
			return Result{}, err
		}
	}
	var exports []string
	for _, n := range r.nodes {
		if err := n.Stop(ctx); err != nil {
			r.off = append(r.off, err.Error())
		}
		path, err := n.Export(ctx)
		if err != nil {
			return Result{}, err
		}
		exports = append(exports, path)
	}
	res, err := judge(ctx, r.o.Binary, r.clients(), exports)
	res.Kills, res.Off = r.kills, append(res.Off, r.off...)
	if err != nil {
		return res, err
	}
	for _, off := range res.Off {
		r.t.say("%s", off)
	}
	r.t.say("%d sent, %d delivered, %d kills", res.Sent, res.Delivered, res.Kills)
	return res, nil
}

// cleanUp ends whatever still runs.
func (r *run) cleanUp() error {
	var errs []error
	for _, a := range r.agents {
		errs = append(errs, a.leave(), a.log.Close())
	}
	for _, n := range r.nodes {
		errs = append(errs, n.Proc.Kill())
	}
	return errors.Join(errs...)
}
