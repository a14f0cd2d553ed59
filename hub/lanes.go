package hub

import (
	"context"
	"errors"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// laneDepth bounds the records of one peer that wait for the core.
const laneDepth = 4096

// LaneIn is what this node durably holds of a peer's lane.
func (h *Hub) LaneIn(peer wire.HubID) Cursor { return h.published.cursor(peer) }

// LaneRefused lists the refusals among the records of a peer's lane above after,
// ascending, as far back as a link may have had records unacknowledged.
func (h *Hub) LaneRefused(peer wire.HubID, after uint64) (out []Refusal) {
	for _, r := range h.published.lane(peer).refused {
		if r.Seq > after {
			out = append(out, r)
		}
	}
	return out
}

// LaneOut is the synced state of this node's lane to a peer.
func (h *Hub) LaneOut(peer wire.HubID) LaneOut { return h.published.lane(peer).out }

// LaneHash is the rolling hash of our lane at seq; ok is false where the lane is
// no longer held (below the acknowledged position) or not that long.
func (h *Hub) LaneHash(peer wire.HubID, seq uint64) (hash [32]byte, ok bool) {
	l := h.published.lane(peer)
	switch {
	case seq == l.out.Head:
		return l.outHash, true
	case seq == l.out.Acked:
		return l.ackHash, true
	case seq < l.out.Acked || seq > l.out.Head:
		return hash, false
	}
	row, ok, err := h.opts.Store.Get(journal.LaneKey(string(peer), seq))
	if err != nil || !ok {
		return hash, false
	}
	at, ok := parseOutboxRow(row)
	return at.hash, ok
}

// Outbox lists synced records of our lane to a peer after a position, in order:
// at most maxCount, and at most maxBytes of bodies unless the first alone is
// larger. A purged body ends a page; it cannot be owed.
func (h *Hub) Outbox(peer wire.HubID, after uint64, maxCount, maxBytes int) ([]OutRecord, error) {
	recs, err := h.outbox(peer, after, maxCount, maxBytes)
	h.stamp(peer, recs)
	return recs, err
}

func (h *Hub) outbox(peer wire.HubID, after uint64, maxCount, maxBytes int) (out []OutRecord, err error) {
	after = max(after, h.published.lane(peer).out.Acked)
	if recs, ok := h.published.page(peer, after, maxCount, maxBytes); ok {
		return recs, nil
	}
	head := h.published.lane(peer).out.Head
	lo, hi := journal.LaneRange(string(peer), after+1, head)
	from, err := h.opts.Store.Sequel()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	bytes := 0
	err = h.opts.Store.Scan(lo, hi, func(_, row []byte) (bool, error) {
		rec, err := h.outRecord(from, row)
		if err != nil {
			return false, err
		}
		if len(out) > 0 && bytes+len(rec.Body) > maxBytes {
			return false, nil
		}
		out = append(out, rec)
		bytes += len(rec.Body)
		return len(out) < maxCount, nil
	})
	return out, err
}

// outRecord reads one lane record from the journal.
func (h *Hub) outRecord(from *journal.Sequel, value []byte) (OutRecord, error) {
	row, ev, rec, err := laneEvent(from, value)
	if err != nil {
		return OutRecord{}, err
	}
	switch r := rec.(type) {
	case journal.ChatAccepted:
		return h.outChat(from, row, &ev, &r)
	case journal.VerdictsSaid:
		body := verdictsBody(&r)
		origin := verdictsOrigin(h.opts.HubID, h.epoch, ev.TimeUS, &r, digestOf(body))
		return OutRecord{Kind: row.kind, Seq: r.LaneSeq, Origin: origin, Body: body}, nil
	}
	return OutRecord{}, laneCorrupt("an outbox row names what is no record of a lane")
}

func (h *Hub) outChat(from *journal.Sequel, row outboxRow, ev *journal.Event, chat *journal.ChatAccepted) (OutRecord, error) {
	origin := originOfChat(h.opts.HubID, h.epoch, ev, chat)
	if row.kind == wire.LaneWithdrawn {
		return OutRecord{Kind: row.kind, Seq: chat.LaneSeq, Origin: origin}, nil
	}
	body, held, err := from.Body(ev)
	if err != nil {
		return OutRecord{}, err
	}
	if !held {
		return OutRecord{}, laneCorrupt("an outbox row names a record that is gone")
	}
	return OutRecord{Kind: row.kind, Seq: chat.LaneSeq, Origin: origin, Body: body}, nil
}

// Inbound hands a page of a peer's lane to the core. done runs once, after the
// sync of the last record, and must not block. Inbound waits only while the
// lane's own queue is full; after an error done is not called.
func (h *Hub) Inbound(ctx context.Context, peer wire.HubID, recs []InRecord, done func(InboundResult)) error {
	if len(recs) == 0 {
		return nil
	}
	src := h.laneSource(peer)
	batch := &inboundBatch{peer: peer, done: done}
	for i := range recs {
		cmd := &inboundCommand{batch: batch, rec: recs[i], last: i == len(recs)-1}
		if err := h.in.push(ctx, src, cmd); err != nil {
			return err
		}
	}
	return nil
}

// Acked hands a peer's cumulative acknowledgement to the core and returns after
// its sync.
func (h *Hub) Acked(ctx context.Context, peer wire.HubID, seq uint64, refused []Refusal) error {
	cmd := &ackedCommand{peer: peer, seq: seq, refused: refused, done: make(chan error, 1)}
	if err := h.in.push(ctx, h.laneSource(peer), cmd); err != nil {
		return err
	}
	return h.await(ctx, cmd.done)
}

func (h *Hub) laneSource(peer wire.HubID) *source {
	h.lanesMu.Lock()
	defer h.lanesMu.Unlock()
	src := h.lanes[peer]
	if src == nil {
		src = newSource(laneDepth)
		src.share = laneShare
		h.lanes[peer] = src
	}
	return src
}
