package relay

import (
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// hand gives the batches that came in to the core, in order, until the link ends. It has a goroutine of its own because
// the core may make it wait.
func (l *link) hand() {
	for {
		select {
		case recs := <-l.batches:
			if err := l.handOver(recs); err != nil {
				l.end(refuse(reasonOf(err, wire.ReasonInternalError), "handing over records: %v", err))
				return
			}
		case <-l.ctx.Done():
			return
		}
	}
}

func (l *link) handOver(recs []hub.InRecord) error {
	last := recs[len(recs)-1].Origin.LaneSeq
	l.owed.Add(1)
	// Not the link's context: a batch of which the core has a part must become whole, or what the core refused of that
	// part would be answered to nobody.
	err := l.core.Inbound(l.relayCtx, l.peer, recs, func(res hub.InboundResult) { l.settled(last, res) })
	if err != nil {
		l.answer()
	}
	return err
}

// answer counts one batch as answered.
func (l *link) answer() {
	if l.owed.Add(-1) == 0 {
		nudge(l.answered)
	}
}

// settled is the core's answer to the batch that ended with last. It runs in the core's goroutine.
func (l *link) settled(last uint64, res hub.InboundResult) {
	defer l.answer()
	switch {
	case res.Err != nil:
		l.end(refuse(reasonOf(res.Err, wire.ReasonInternalError), "records were not taken: %v", res.Err))
	case res.Cursor.Seq < last:
		l.end(refuse(wire.ReasonInternalError, "the core holds %d after records up to %d", res.Cursor.Seq, last))
	default:
		l.acks.settle(last, res.Refused)
		l.wake()
	}
}
