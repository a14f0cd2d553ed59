package relay

import (
	"context"
	"errors"
	"time"

	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

const (
	// probeEvery is how long after a call that nobody has answered yet the next one leaves. It bounds how long after an
	// outage the first packet arrives, whatever the outage: a message is across within a second of its end. Earlier calls
	// go on meanwhile, so that a peer that is slow to answer is reached as well.
	probeEvery = 700 * time.Millisecond
	// probeTime bounds one call, resolution of its name included; therefore at most 8 are under way.
	probeTime = 5 * time.Second
)

// unanswered says that an attempt failed since nothing came back. Whoever answers, with whatever, is there.
func unanswered(err error) bool {
	e, ok := errors.AsType[*transport.Error](err)
	return reasonOf(err, wire.ReasonLinkLost) == wire.ReasonLinkLost && (!ok || !e.Remote && !e.Final)
}

// probe calls a peer again and again until somebody answers or ctx ends. The first connection counts, or the first failure
// that is an answer; missed is told of the others. Nothing that it started goes on.
func probe(ctx context.Context, dial func(context.Context) (Conn, error), missed func(error)) (Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan dialResult)
	under := 0
	defer func() {
		cancel()
		for ; under > 0; under-- {
			(<-results).dispose()
		}
	}()
	again := time.NewTicker(probeEvery)
	defer again.Stop()
	call := func() {
		under++
		go func() {
			ctx, cancel := context.WithTimeout(ctx, probeTime)
			defer cancel()
			conn, err := dial(ctx)
			results <- dialResult{conn: conn, err: err}
		}()
	}
	for call(); ; {
		select {
		case res := <-results:
			under--
			switch {
			case res.err == nil || !unanswered(res.err):
				return res.conn, res.err
			case ctx.Err() != nil:
				return nil, res.err
			}
			missed(res.err)
		case <-again.C:
			call()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// missed notes a call of the attempt under way that nobody answered.
func (o *owner) missed(a *attempt, err error) {
	if a.ctx.Err() != nil {
		return // it was overtaken, and is no news
	}
	a.missed.Add(1)
	o.note(ended{reason: wire.ReasonLinkLost, detail: err.Error()})
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status.State == Dialling {
		o.status.State, o.status.SinceUS = Unreachable, o.relay.opt.Now().UnixMicro()
	}
	if o.status.State == Unreachable {
		o.status.Attempts++
	}
}
