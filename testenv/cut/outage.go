package cut

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetrelay/hub/client"
	"fleetrelay/testenv/faults"
	"fleetrelay/testenv/process"
)

// Outage is what one outage cost.
type Outage struct {
	First time.Duration // from the mending to the first message that arrives
	PerS  float64       // bytes a second that both nodes sent into the dark once they had noticed
}

// RunOutage makes one pair, darkens its wire for so long, which must be more than a link outlives, hands over one message
// each way meanwhile, and measures.
func RunOutage(ctx context.Context, o Options, dark time.Duration) (res *Outage, err error) {
	p := newPair(&o, 0, faults.Plan{})
	defer func() { err = errors.Join(err, p.cleanUp()) }()
	if err := p.setUp(ctx); err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	p.wire.Darken()
	for i := range p.nodes {
		m := client.Message{To: p.readers[1-i].Address(), Text: "first", ClientMsgID: "first"}
		if err := p.senders[i].Send(ctx, m); err != nil {
			return nil, err
		}
	}
	res = &Outage{}
	if res.PerS, err = p.listen(ctx, dark); err != nil {
		return nil, err
	}
	p.wire.Mend()
	mended := time.Now()
	err = process.Poll(ctx, func() error {
		if p.counts.Delivered.Load() == 0 {
			return errors.New("nothing has arrived")
		}
		return nil
	})
	res.First = time.Since(mended)
	return res, err
}

// listen waits for the end of the darkness and returns what was sent into it, a second, when a link must be given up.
func (p *pair) listen(ctx context.Context, dark time.Duration) (perS float64, err error) {
	sent := func() uint64 { return p.wire.Stats(faults.Forth).DarkBytes + p.wire.Stats(faults.Back).DarkBytes }
	var early uint64
	for _, wait := range []time.Duration{longDark, dark - longDark} {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if early == 0 {
			early = sent()
		}
	}
	return float64(sent()-early) / (dark - longDark).Seconds(), nil
}
