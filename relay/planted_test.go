package relay

import (
	"context"
	"crypto/sha256"
	"testing"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// The same conversation over a pump with a fault must fail the same checks, whichever fault it is.
func TestChecksFindPlantedFaults(t *testing.T) {
	for name, around := range map[string]func(*store) Core{
		"skips a record":     func(s *store) Core { return &badOutbox{store: s, fault: skip} },
		"doubles a record":   func(s *store) Core { return &badOutbox{store: s, fault: double} },
		"swaps two records":  func(s *store) Core { return &badOutbox{store: s, fault: swap} },
		"alters a body":      func(s *store) Core { return &badOutbox{store: s, fault: alter} },
		"hands over twice":   func(s *store) Core { return twice{s} },
		"forgets refusals":   func(s *store) Core { return forgetful{s} },
		"acks before commit": func(s *store) Core { return hasty{s} },
	} {
		found := false
		for at := -1; at < 3000 && !found; at += 97 {
			faults, _, _ := conversation(t, true, at, around)
			found = len(faults) > 0
		}
		if !found {
			t.Errorf("a pump that %s was not found", name)
		}
	}
}

// badOutbox stands for a sender's half with a fault: what it reads of the lane is not the lane, renumbered so that the
// numbers look right.
type badOutbox struct {
	*store
	fault func([]hub.OutRecord) []hub.OutRecord
}

func (b *badOutbox) Outbox(peer wire.HubID, after uint64, maxCount, _ int) ([]hub.OutRecord, error) {
	var bad []hub.OutRecord
	b.with(peer, func(l *testLane) {
		bad = b.fault(append([]hub.OutRecord(nil), l.out...))[:len(l.out)-1]
	})
	for i := range bad {
		bad[i].Seq, bad[i].Origin.LaneSeq = uint64(i+1), uint64(i+1)
	}
	return bad[min(int(after), len(bad)):min(int(after)+maxCount, len(bad))], nil
}

func skip(l []hub.OutRecord) []hub.OutRecord { return append(l[:1], l[2:]...) }

func double(l []hub.OutRecord) []hub.OutRecord {
	return append([]hub.OutRecord{l[0], l[0]}, l[1:]...)
}

func swap(l []hub.OutRecord) []hub.OutRecord {
	l[0], l[1] = l[1], l[0]
	return l
}

func alter(l []hub.OutRecord) []hub.OutRecord {
	l[0].Body = []byte(`{"payload":"altered"}`)
	l[0].Origin.Digest = sha256.Sum256(l[0].Body)
	return l
}

// twice stands for a receiver's half that hands a batch over a second time.
type twice struct{ *store }

func (c twice) Inbound(ctx context.Context, peer wire.HubID, recs []hub.InRecord, done func(hub.InboundResult)) error {
	if err := c.store.Inbound(ctx, peer, recs, done); err != nil {
		return err
	}
	_ = c.store.Inbound(ctx, peer, recs, func(hub.InboundResult) {})
	return nil
}

// forgetful stands for a receiver's half that tells refusals once and never again.
type forgetful struct{ *store }

func (forgetful) LaneRefused(wire.HubID, uint64) []hub.Refusal { return nil }

// hasty stands for a receiver's half that acknowledges what is not durable, in a hub that then loses it.
type hasty struct{ *store }

func (c hasty) Inbound(_ context.Context, _ wire.HubID, recs []hub.InRecord, done func(hub.InboundResult)) error {
	last := recs[len(recs)-1]
	done(hub.InboundResult{Cursor: hub.Cursor{EpochID: last.Origin.EpochID, Seq: last.Origin.LaneSeq, Hash: last.LaneHash}})
	return nil
}
