package hub

import (
	"fmt"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// QueueInfo is what waits for one peer, as of the last synced turn.
type QueueInfo struct {
	Peer    wire.HubID `json:"peer"`
	Records uint64     `json:"records"` // not acknowledged
	Bytes   uint64     `json:"bytes"`   // of their bodies
	Head    uint64     `json:"head"`    // last record accepted for the peer
	Acked   uint64     `json:"acked"`   // last one the peer holds durably
	// Sent is the last record that may have left: only the peer can end those up to
	// it. Those above never left and end when they are MaxAgeS old.
	Sent uint64 `json:"sent"`
	Up   bool   `json:"up"` // a link is open, so that all that waits may leave
	// OldestUS is when the oldest of them was accepted, in Unix microseconds; 0
	// when nothing waits.
	OldestUS int64 `json:"oldest_us,omitzero"`
	// UntilUS is when the oldest that never left is withdrawn if no link comes up; 0
	// when there is none.
	UntilUS int64 `json:"until_us,omitzero"`
	// MaxRecords and MaxBytes are the bounds beyond which chats are refused.
	MaxRecords uint64  `json:"max_records"`
	MaxBytes   uint64  `json:"max_bytes"`
	MaxAgeS    float64 `json:"max_age_s"`
}

// QueueRecord is one record that waits for a peer.
type QueueRecord struct {
	LaneSeq    uint64 `json:"lane_seq"`
	Seq        uint64 `json:"seq"` // the event that made it
	Kind       string `json:"kind"`
	Sender     string `json:"sender"`
	Target     string `json:"target"`
	AcceptedUS int64  `json:"accepted_us"`
	Bytes      uint64 `json:"bytes"`
	// State is relay_pending: it never left; relay_unconfirmed: it may have, and the
	// peer has not answered; relay_expired: it was withdrawn.
	State wire.Reason `json:"state"`
	// UntilUS is when a chat that never left is withdrawn; 0 for any other record.
	UntilUS int64 `json:"until_us,omitzero"`
}

// Queues lists what waits for each approved peer, by hub id.
func (h *Hub) Queues() ([]QueueInfo, error) {
	out := []QueueInfo{}
	for _, p := range h.Trust().Peers() {
		info, err := h.Queue(p.Hub)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

// Queue is what waits for one peer. A hub that is no peer has an empty queue.
func (h *Hub) Queue(peer wire.HubID) (QueueInfo, error) {
	l := h.published.lane(peer)
	info := QueueInfo{
		Peer: peer, Records: l.out.Head - l.out.Acked, Bytes: l.bytes, Head: l.out.Head, Acked: l.out.Acked,
		Sent: l.mark, Up: l.up, MaxAgeS: h.opts.Limits.PeerAge.Seconds(),
		MaxRecords: uint64(h.opts.Limits.PeerRecords), MaxBytes: uint64(h.opts.Limits.PeerBytes),
	}
	oldest, err := h.QueueRecords(peer, 0, 1)
	if len(oldest) > 0 {
		info.OldestUS = oldest[0].AcceptedUS
	}
	if err != nil {
		return info, err
	}
	pending, err := h.QueueRecords(peer, max(l.mark, l.aged), 1)
	if len(pending) > 0 {
		info.UntilUS = pending[0].AcceptedUS + h.opts.Limits.PeerAge.Microseconds()
	}
	return info, err
}

// QueueRecords lists records that wait for a peer, in the order of the lane: at
// most limit of those after a lane number.
func (h *Hub) QueueRecords(peer wire.HubID, after uint64, limit int) ([]QueueRecord, error) {
	l := h.published.lane(peer)
	out := []QueueRecord{}
	after = max(after, l.out.Acked)
	if limit <= 0 || after >= l.out.Head {
		return out, nil
	}
	lo, hi := journal.LaneRange(string(peer), after+1, l.out.Head)
	err := h.opts.Store.Scan(lo, hi, func(key, value []byte) (bool, error) {
		r, err := h.queueRecord(journal.SeqOfKey(key), value)
		if err != nil {
			return false, err
		}
		if r.State == wire.ReasonRelayPending && r.LaneSeq <= l.mark {
			r.State, r.UntilUS = wire.ReasonRelayUnconfirmed, 0
		}
		out = append(out, r)
		return len(out) < limit, nil
	})
	return out, err
}

func (h *Hub) queueRecord(laneSeq uint64, value []byte) (QueueRecord, error) {
	row, ev, rec, err := laneEvent(h.opts.Store, value)
	if err != nil {
		return QueueRecord{}, err
	}
	r := QueueRecord{
		LaneSeq: laneSeq, Seq: row.seq, Kind: row.kind.String(), AcceptedUS: ev.TimeUS, Bytes: uint64(ev.BodyLen),
		State: wire.ReasonRelayPending,
	}
	switch rec := rec.(type) {
	case journal.ChatAccepted:
		r.Sender, r.Target, r.UntilUS = rec.Sender, rec.Target, ev.TimeUS+h.opts.Limits.PeerAge.Microseconds()
		if row.kind == wire.LaneWithdrawn {
			r.State, r.Bytes, r.UntilUS = wire.ReasonRelayExpired, 0, 0
		}
	case journal.VerdictsSaid:
		r.Sender, r.Target, r.Bytes = wire.HubSender, rec.Dest, uint64(len(verdictsBody(&rec)))
	default:
		return r, laneCorrupt(fmt.Sprintf("an outbox row names event %d, which is none of a lane", row.seq))
	}
	return r, nil
}

// eventReader reads events by their numbers: a store, or a sequel of it.
type eventReader interface {
	Event(seq uint64) (ev journal.Event, ok bool, err error)
}

// laneEvent reads the event that a lane row names.
func laneEvent(from eventReader, value []byte) (row outboxRow, ev journal.Event, rec any, err error) {
	row, ok := parseOutboxRow(value)
	if !ok {
		return row, ev, nil, laneCorrupt("an outbox row is unreadable")
	}
	if ev, ok, err = from.Event(row.seq); err != nil {
		return row, ev, nil, err
	}
	if !ok {
		return row, ev, nil, laneCorrupt("an outbox row names a record that is gone")
	}
	rec, err = ev.Record()
	return row, ev, rec, err
}

func laneCorrupt(text string) error {
	return &Error{Reason: wire.ReasonJournalCorrupt, Text: text, Next: "fleet journal verify"}
}
