package node

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// Queue is what waits for one peer, and how the link it waits for stands.
type Queue struct {
	hub.QueueInfo

	Link         string `json:"link,omitzero"`    // "" on a stopped node
	Revoked      bool   `json:"revoked,omitzero"` // held until the hub is approved again
	LinkReason   string `json:"link_reason,omitzero"`
	LinkAttempts int    `json:"link_attempts,omitzero"`
	LinkNextUS   int64  `json:"link_next_us,omitzero"`
}

// Queues is what waits for every peer.
type Queues struct {
	Queues []Queue `json:"queues"`
}

// QueueRecords is one peer's queue with some of its records, in the order in which they go out.
type QueueRecords struct {
	Queue
	Rows []hub.QueueRecord `json:"rows"`
}

// MaxQueueRows bounds the records of one answer.
const MaxQueueRows = 10000

// Queues asks what waits for every peer.
func (c *Client) Queues(ctx context.Context) (Queues, error) {
	return ask[Queues](ctx, c, http.MethodGet, pathQueues, nil)
}

// QueueOf asks what waits for one peer: at most limit records after a lane number.
func (c *Client) QueueOf(ctx context.Context, peer string, after uint64, limit int) (QueueRecords, error) {
	q := url.Values{"after": {strconv.FormatUint(after, 10)}, "limit": {strconv.Itoa(limit)}}
	return ask[QueueRecords](ctx, c, http.MethodGet, pathQueues+"/"+url.PathEscape(peer)+"?"+q.Encode(), nil)
}

func (n *Node) queues(context.Context, Empty) (Queues, error) {
	out := Queues{Queues: []Queue{}}
	for _, p := range n.owed() {
		q, err := n.queue(p)
		if err != nil {
			return Queues{}, err
		}
		out.Queues = append(out.Queues, q)
	}
	return out, nil
}

// owed are the hubs for which something may wait: peers, and those that were.
func (n *Node) owed() []federation.Peer {
	trust := n.hub.Trust()
	all := trust.Peers()
	for _, r := range trust.Revoked() {
		all = append(all, r.Peer)
	}
	return all
}

func (n *Node) queue(p federation.Peer) (Queue, error) {
	info, err := n.hub.Queue(p.Hub)
	row := n.peer(p)
	_, revoked := n.hub.Trust().RevokedPeer(p.Hub)
	return Queue{QueueInfo: info, Revoked: revoked, Link: row.Link, LinkReason: row.LinkReason, LinkAttempts: row.LinkAttempts, LinkNextUS: row.LinkNextUS}, err
}

func (n *Node) queueOf(w http.ResponseWriter, r *http.Request) {
	answer(n, func(context.Context, Empty) (QueueRecords, error) {
		after, aerr := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
		limit, lerr := strconv.Atoi(r.URL.Query().Get("limit"))
		if err := errors.Join(aerr, lerr); err != nil {
			return QueueRecords{}, &Refusal{Reason: wire.ReasonMalformedFrame, Text: "after and limit are numbers", Next: Command("queue", "show", "--help"), Err: err}
		}
		peers := n.owed()
		at := slices.IndexFunc(peers, func(p federation.Peer) bool { return string(p.Hub) == r.PathValue("hub") })
		if at < 0 {
			return QueueRecords{}, NoPeer(r.PathValue("hub"))
		}
		q, err := n.queue(peers[at])
		if err != nil {
			return QueueRecords{}, err
		}
		rows, err := n.hub.QueueRecords(peers[at].Hub, after, min(limit, MaxQueueRows))
		return QueueRecords{Queue: q, Rows: rows}, err
	})(w, r)
}

// NoPeer is the refusal for a hub that is no peer.
func NoPeer(hubID string) error {
	return &Refusal{Reason: wire.ReasonUnknownPeer, Text: strconv.Quote(hubID) + " is no approved hub here", Next: Command("peer", "list")}
}
