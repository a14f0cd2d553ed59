package faults

import (
	"math/rand/v2"
	"time"
)

// Plan says what becomes of packets on a wire that is not dark. The zero value passes each at once, in order. Shares are
// from 0 to 1, each of all packets; a packet may meet several.
type Plan struct {
	Loss      float64 // dropped
	Duplicate float64 // delivered twice, the second time Late
	Reorder   float64 // held back by Late, so that later ones overtake it; nothing else changes the order
	Late      time.Duration
	Delay     time.Duration // of every packet
	Jitter    time.Duration // up to so much more, evenly
}

// Bad is a network that a link must live with: it loses, doubles and reorders a few packets in a hundred.
func Bad() Plan {
	return Plan{
		Loss: 0.02, Duplicate: 0.02, Reorder: 0.05,
		Late: 5 * time.Millisecond, Delay: 200 * time.Microsecond, Jitter: 300 * time.Microsecond,
	}
}

// fate is what becomes of one packet.
type fate struct {
	lost, doubled, held bool
	wait                time.Duration
}

// lot draws fates for one direction.
type lot struct{ rng *rand.Rand }

func newLot(seed uint64, d Direction) *lot { return &lot{rng: rand.New(rand.NewPCG(seed, uint64(d)))} }

// draw decides about the next packet. It draws the same number of times whatever the plan is, so that a changed plan does
// not move the fates of later packets.
func (l *lot) draw(p Plan) fate {
	return fate{
		lost: l.rng.Float64() < p.Loss, doubled: l.rng.Float64() < p.Duplicate, held: l.rng.Float64() < p.Reorder,
		wait: p.Delay + time.Duration(l.rng.Float64()*float64(p.Jitter)),
	}
}
