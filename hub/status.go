package hub

import (
	"context"
	"encoding/hex"
	"sync/atomic"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// stats counts what the pipeline did.
type stats struct {
	turns, events atomic.Uint64
}

// Status is what this node is and does now.
type Status struct {
	Hub             wire.HubID   `json:"hub"`
	Version         string       `json:"version"`
	Epoch           uint64       `json:"epoch"`
	EpochID         string       `json:"epoch_id"`
	Head            uint64       `json:"head"` // last synced event
	UptimeS         float64      `json:"uptime_s"`
	Sockets         int          `json:"sockets"`
	Online          []string     `json:"online"`
	Secured         bool         `json:"secured"` // agents need a token
	PrivateDirected bool         `json:"private_directed"`
	PendingReceipts int          `json:"pending_receipts"`
	AwaitedReceipts int          `json:"awaited_receipts"` // of other hubs
	Turns           uint64       `json:"turns"`
	Events          uint64       `json:"events"`
	Peers           []PeerStatus `json:"peers"`
	// Refusals counts what was refused, dropped or closed since the start, by reason.
	Refusals map[wire.Reason]uint64 `json:"refusals"`
	Journal  journal.Metrics        `json:"journal"`
}

// PeerStatus is one peer and the two lanes shared with it.
type PeerStatus struct {
	Hub       wire.HubID `json:"hub"`
	Endpoints []string   `json:"endpoints"`
	Pins      []string   `json:"pins"`
	MayReach  []string   `json:"may_reach"`
	By        string     `json:"by"`
	User      string     `json:"user,omitempty"`
	AddedUS   int64      `json:"added_us"`
	OutHead   uint64     `json:"out_head"`  // records accepted for it
	OutAcked  uint64     `json:"out_acked"` // of these, durable there
	Denied    uint64     `json:"denied"`    // of these, not admitted there
	In        uint64     `json:"in"`        // records taken from it
}

// Status reports the state as of a turn that is synced when it returns.
func (h *Hub) Status(ctx context.Context) (Status, error) {
	s := Status{
		Hub: h.opts.HubID, Version: h.opts.Version, Epoch: h.epoch.Number, EpochID: hex.EncodeToString(h.epoch.ID[:]),
		UptimeS: h.opts.Now().Sub(h.started).Seconds(), Sockets: h.gate.count(), Peers: []PeerStatus{},
	}
	err := h.operate(ctx, func(v *view, _ *draft) error {
		s.Head, s.Online, s.Secured = v.st.head, v.ro.online(), v.secured()
		s.PrivateDirected, s.PendingReceipts = v.privateDirected(), v.st.pending.len()
		s.AwaitedReceipts = v.st.waits.len()
		for _, p := range v.st.trust.Peers() {
			l := v.st.laneOf(p.Hub)
			ps := PeerStatus{
				Hub: p.Hub, Endpoints: p.Endpoints, By: p.By, User: p.User, AddedUS: p.AddedUS,
				OutHead: l.outHead, OutAcked: l.acked, Denied: l.denied, In: l.in.Seq,
			}
			for _, pin := range p.Pins {
				ps.Pins = append(ps.Pins, hex.EncodeToString(pin[:]))
			}
			for _, pattern := range p.MayReach {
				ps.MayReach = append(ps.MayReach, pattern.String())
			}
			s.Peers = append(s.Peers, ps)
		}
		return nil
	})
	if err != nil {
		return Status{}, err
	}
	s.Turns, s.Events = h.stats.turns.Load(), h.stats.events.Load()
	s.Journal, s.Refusals = h.opts.Store.Metrics(), h.refusals.byReason()
	return s, nil
}
