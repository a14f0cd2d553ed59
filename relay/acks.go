package relay

import (
	"sync"

	"fleetrelay/hub"
	"fleetrelay/relay/frame"
)

// acks is what this side owes the peer for the records that came in: taken by the reader, settled by the core, told by
// the writer. What was taken and not told is bounded by the same window that binds the sender, so that a peer that keeps
// to it never waits here, and one that does not can make nothing grow.
type acks struct {
	mu      sync.Mutex
	window  sendWindow // its acked is the last position told
	settled uint64     // durable position
	refused []frame.Refused
	repeat  bool          // tell the position again though it is told
	room    chan struct{} // capacity 1: the window moved
}

// newAcks begins at the cursor of our hello. The first ack repeats what the peer may not have heard.
func newAcks(cursor uint64, refused []hub.Refusal) *acks {
	a := &acks{settled: cursor, repeat: true, room: make(chan struct{}, 1)}
	a.window.sent, a.window.acked = cursor, cursor
	a.refused = appendRefused(nil, refused, cursor)
	return a
}

func appendRefused(dst []frame.Refused, refused []hub.Refusal, upTo uint64) []frame.Refused {
	for _, r := range refused {
		if r.Seq <= upTo {
			dst = append(dst, frame.Refused{Seq: r.Seq, Reason: r.Reason})
		}
	}
	return dst
}

// take enters records up to last into the window; false means that there is no room and that room will be signalled.
func (a *acks) take(count int, last uint64, bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if empty := a.window.sent == a.window.acked; !empty && a.window.room() < count {
		return false
	}
	a.window.add(last, bytes)
	return true
}

// again asks for the position to be told once more.
func (a *acks) again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.repeat = true
}

// settle enters the durable result of the batch that ended with last. The core's cursor may be further already, over
// batches whose refusals are still to come: an ack must not pass those.
func (a *acks) settle(last uint64, refused []hub.Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settled = last
	a.refused = appendRefused(a.refused, refused, last)
}

// next is the ack to be written now, if one is due. An ack never passes a refusal that does not fit into it.
func (a *acks) next() (frame.Ack, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.settled == a.window.acked && !a.repeat {
		return frame.Ack{}, false
	}
	ack := frame.Ack{Seq: a.settled, Refused: a.refused}
	if len(ack.Refused) > frame.MaxRefused {
		ack.Refused = ack.Refused[:frame.MaxRefused]
		ack.Seq = ack.Refused[frame.MaxRefused-1].Seq
		a.refused = a.refused[frame.MaxRefused:]
	} else {
		a.refused, a.repeat = nil, false
	}
	a.window.ack(ack.Seq)
	select {
	case a.room <- struct{}{}:
	default:
	}
	return ack, true
}
