package socket

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// TestEveryItemIsToldOnce ends sockets in every way while several goroutines send: Run returns in time and each item
// taken is told exactly once.
func TestEveryItemIsToldOnce(t *testing.T) {
	ends := map[string]func(*pair){
		"peer gone":    func(p *pair) { _ = p.raw.Close() },
		"peer closes":  func(p *pair) { _ = p.client.Close(websocket.StatusNormalClosure, "") },
		"we close":     func(p *pair) { p.socket.Close(wire.ReasonSuperseded) },
		"slow reader":  func(p *pair) { p.socket.Close(wire.ReasonSlowReader) },
		"context ends": func(p *pair) { p.cancel() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			for range 20 {
				if wrong := endWhileSending(t, rng, end); wrong != "" {
					t.Fatalf("%s (seed %d)", wrong, seed)
				}
			}
		})
	}
}

func endWhileSending(t *testing.T, rng *rand.Rand, end func(*pair)) string {
	p := loopPair(t, Options{QueueCount: 50, CloseWait: time.Second}, ignore)
	go func() {
		for {
			if _, _, err := p.client.Read(context.Background()); err != nil {
				return
			}
		}
	}()
	var taken atomic.Int64
	var senders sync.WaitGroup
	it := item("first frame of an item", "second frame of an item")
	for range 3 {
		senders.Go(func() {
			for p.socket.Send(it) {
				taken.Add(1)
			}
		})
	}
	for n := rng.Int64N(200); taken.Load() < n && !p.socket.isClosing(); {
		if p.socket.Send(it) {
			taken.Add(1)
		}
	}
	end(p)
	senders.Wait()
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		return "Run did not return"
	}
	if told := it.yes.Load() + it.no.Load(); told != taken.Load() {
		return "told another number of times than taken"
	}
	return ""
}
