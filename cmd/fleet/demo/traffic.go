package demo

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"fleetrelay/hub/client"
)

// Traffic under the kills: every sender sends at perSecond with at most outstanding messages not yet accepted, so that
// there is always something in flight and the run stays short.
const (
	perSecond   = 150
	outstanding = 64
)

// stream is one sender and the recipient on the other hub.
type stream struct {
	from, to *agent
	sent     atomic.Int64
}

// traffic is all streams while they run.
type traffic struct {
	streams []*stream
	stop    context.CancelFunc
	group   errgroup.Group
}

func startTraffic(ctx context.Context, streams []*stream) *traffic {
	going, stop := context.WithCancel(ctx)
	t := &traffic{streams: streams, stop: stop}
	for _, s := range streams {
		t.group.Go(func() error { return s.run(ctx, going) })
	}
	return t
}

// run sends until going ends. A message handed over is sent to its end: cut short it might be on the wire, and nobody would
// wait for it.
func (s *stream) run(ctx, going context.Context) error {
	pace := rate.NewLimiter(perSecond, 1)
	for n := 1; pace.Wait(going) == nil; n++ {
		m := client.Message{
			To: s.to.name(), Text: fmt.Sprintf("measurement %d of %s", n, s.from.seat), ClientMsgID: fmt.Sprintf("%s-%05d", s.from.name(), n),
		}
		if err := s.from.send(ctx, m); err != nil {
			return err
		}
		s.sent.Add(1)
	}
	return nil
}

// end stops the senders and waits for them.
func (t *traffic) end() error {
	t.stop()
	return t.group.Wait()
}

// sent counts what the applications handed over.
func (t *traffic) sent() (n int) {
	for _, s := range t.streams {
		n += int(s.sent.Load())
	}
	return n
}

// got counts what the applications at the other ends received.
func (t *traffic) got() (n int) {
	for _, s := range t.streams {
		_, got := s.to.counts()
		n += got
	}
	return n
}

// accepted counts what the senders on one hub were told is accepted.
func (t *traffic) accepted(hub string) (n int) {
	for _, s := range t.streams {
		if s.from.node.Hub == hub {
			accepted, _ := s.from.counts()
			n += accepted
		}
	}
	return n
}
