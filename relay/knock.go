package relay

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// The waits between two knocks at one hub double between these, each give or take a fifth.
const (
	firstKnock = time.Second
	lastKnock  = time.Minute
)

// Knocker is a [Transport] that can call a hub which has not approved this one; *transport.QUIC is one. Over any other
// nobody is called before both sides have approved.
type Knocker interface {
	Knock(ctx context.Context, t transport.Target, pin certs.Pin) (transport.KnockResult, error)
}

// KnockStatus is what an operator is shown of the calls at one hub whose invitation was taken here.
type KnockStatus struct {
	Hub wire.HubID
	Pin federation.Pin
	// Accepted says that the hub has approved this one: it is not called any more, but waits for our approval.
	Accepted bool
	// Reason says why the last call was not accepted, "" before the first has ended: peer_pending when that hub has yet to
	// decide, or the word of the failure, and Detail what was seen.
	Reason wire.Reason
	Detail string
	// Attempts counts the calls so far; NextUS is when the next one is due in Unix microseconds, 0 when none is.
	Attempts int
	NextUS   int64
}

// knocks are the calls under way, by key. They belong to the relay's Run, but for the status.
type knocks struct {
	mu   sync.Mutex
	rows map[federation.Pin]*knock
}

// knock calls one hub until it is decided about here.
type knock struct {
	relay  *Relay
	row    federation.Pending
	cancel context.CancelFunc

	mu     sync.Mutex
	status KnockStatus
}

// syncKnocks calls at every hub whose invitation was taken, and at no other any more.
func (r *Relay) syncKnocks(ctx context.Context) {
	knocker, can := r.transport.(Knocker)
	if !can || r.opt.Joined == nil {
		return
	}
	joined := r.opt.Joined()
	r.knocks.mu.Lock()
	defer r.knocks.mu.Unlock()
	for pin, k := range r.knocks.rows {
		if !slices.ContainsFunc(joined, k.still) {
			k.cancel()
			delete(r.knocks.rows, pin)
		}
	}
	for _, row := range joined {
		if r.knocks.rows[row.Pin] != nil {
			continue
		}
		k := &knock{relay: r, row: row, status: KnockStatus{Hub: row.Hub, Pin: row.Pin}}
		own, cancel := context.WithCancel(ctx)
		k.cancel = cancel
		r.knocks.rows[row.Pin] = k
		r.running.Go(func() { k.run(own, knocker) })
	}
}

// still says that a row is the one that this calls for: a later invitation of the same key is another.
func (k *knock) still(row federation.Pending) bool {
	return row.Pin == k.row.Pin && row.Hub == k.row.Hub && bytes.Equal(row.Invite, k.row.Invite) && slices.Equal(row.Endpoints, k.row.Endpoints)
}

// run calls until it was accepted, the invitation is over, or ctx ends.
func (k *knock) run(ctx context.Context, knocker Knocker) {
	defer k.cancel()
	to := transport.Target{Endpoints: k.row.Endpoints, Hub: k.row.Hub, Call: k.relay.call(k.row.Invite)}
	for wait := firstKnock; k.relay.opt.Now().UnixMicro() < k.row.ExpiresUS; wait = min(2*wait, lastKnock) {
		result, err := knocker.Knock(ctx, to, certs.Pin(k.row.Pin))
		if ctx.Err() != nil {
			return
		}
		pause := wait*4/5 + rand.N(wait*2/5)
		if k.note(result, err, pause) {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
	k.over()
}

// note keeps what a call brought; done says that no other is needed.
func (k *knock) note(result transport.KnockResult, err error, pause time.Duration) (done bool) {
	now := k.relay.opt.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &k.status
	s.Attempts++
	s.Reason, s.Detail, s.NextUS = wire.ReasonPeerPending, "", now.Add(pause).UnixMicro()
	switch {
	case err != nil:
		s.Reason, s.Detail = reasonOf(err, wire.ReasonLinkLost), err.Error()
	case result == transport.KnockAccepted:
		s.Accepted, s.Reason, s.NextUS = true, "", 0
	}
	return s.Accepted
}

// over notes that the invitation has ended.
func (k *knock) over() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.Reason, k.status.NextUS = wire.ReasonInviteExpired, 0
}

// Knocks is the status of the calls at hubs that have not decided yet, by hub id.
func (r *Relay) Knocks() []KnockStatus {
	r.knocks.mu.Lock()
	rows := slices.Collect(maps.Values(r.knocks.rows))
	r.knocks.mu.Unlock()
	all := make([]KnockStatus, len(rows))
	for i, k := range rows {
		k.mu.Lock()
		all[i] = k.status
		k.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b KnockStatus) int { return cmp.Compare(a.Hub, b.Hub) })
	return all
}

// call is what this hub says of itself when it dials one that may not have approved it yet.
func (r *Relay) call(invite []byte) certs.Call {
	c := certs.Call{Invite: invite}
	if len(invite) > 0 && r.opt.Endpoints != nil {
		c.Endpoints = r.opt.Endpoints()
	}
	return c
}
