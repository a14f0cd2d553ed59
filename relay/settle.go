package relay

import (
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// settleDepth bounds the acks of a peer that wait for the core.
const settleDepth = 16

// settle tells the core what the peer acknowledged, until the link ends. It has a goroutine of its own because the core
// answers after a sync, and neither the records nor the acks behind this one need wait for that; what came in meanwhile
// goes in one call.
func (l *link) settle() {
	for {
		select {
		case a := <-l.settles:
			seq, refused := l.gather(a)
			if err := l.core.Acked(l.ctx, l.peer, seq, refused); err != nil {
				l.end(refuse(reasonOf(err, wire.ReasonInternalError), "settling records: %v", err))
				return
			}
		case <-l.ctx.Done():
			return
		}
	}
}

// gather joins an ack with those that wait behind it. A refusal at or below an earlier ack comes too late, joined or not:
// that record is settled.
func (l *link) gather(a frame.Ack) (seq uint64, refused []hub.Refusal) {
	for {
		for _, r := range a.Refused {
			if r.Seq > seq {
				refused = append(refused, hub.Refusal{Seq: r.Seq, Reason: r.Reason})
			}
		}
		seq = a.Seq
		select {
		case a = <-l.settles:
		default:
			return seq, refused
		}
	}
}
