package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
	"fleetrelay/relay/transport"
)

// Options is what a relay is made of. Core is required, and either Transport or Identity and Socket.
type Options struct {
	Core Core
	// Transport makes the connections; nil makes Run use QUIC, over Socket and as Identity.
	Transport Transport
	Identity  *certs.Identity
	// Socket is the one UDP socket of all links. The caller closes it after Run.
	Socket net.PacketConn
	// Knocked is told of callers that nobody knows, as [transport.Options] says; nil tells nobody.
	Knocked func(federation.Knock)
	// Joined are the pending hubs whose invitation was taken here and which are called until they are decided about; it is
	// asked again whenever [Relay.PeersChanged] is told. nil: none.
	Joined func() []federation.Pending
	// Endpoints are where this hub says it is reached, to hubs that invited it; nil says nothing.
	Endpoints func() []string
	// Log takes what an operator should see; nil discards it.
	Log *slog.Logger
	// Now is the clock of what is shown; nil is time.Now. Timers always run on real (or synctest) time.
	Now func() time.Time
	// MaxBody is the largest carried body in bytes, default 1 MiB. It must not be below the hub's own frame ceiling.
	MaxBody int
	// Ceiling is the most that the operator lets a link admit; nil lowers nothing.
	Ceiling *federation.Ceiling
	// Newest cuts the relay versions this node speaks; 0 is all.
	Newest frame.Version
	// LongWait is the longest wait between two attempts to reach a peer, default 5 s.
	LongWait time.Duration
}

func (o Options) orDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxBody <= 0 {
		o.MaxBody = wire.DefaultMaxBytes
	}
	if o.LongWait <= 0 {
		o.LongWait = longWait
	}
	return o
}

// offer is the lower of what this build and its operator admit.
func (o Options) offer() federation.Ceiling {
	build := federation.BuildCeiling(o.MaxBody)
	if o.Ceiling == nil {
		return build
	}
	return federation.Admit(int(frame.NewestVersion), build, *o.Ceiling).Ceiling
}

// Relay keeps one link to every approved peer. It satisfies hub.Forwarder.
type Relay struct {
	opt       Options
	core      Core
	transport Transport // set before anything runs
	greeter   greeter
	news      chan struct{} // capacity 1: trust changed
	running   sync.WaitGroup
	refused   atomic.Pointer[func() map[wire.Reason]uint64] // of the transport that the relay made; nil before

	mu      sync.RWMutex
	knocks  knocks
	eager   bool // an owner that is new now is of a peer just approved, which may wait for a call
	owners  map[wire.HubID]*owner
	leaving map[wire.HubID]*owner // stopped, perhaps not over yet
}

// New makes a relay; it does nothing until Run.
func New(o Options) *Relay {
	o = o.orDefaults()
	r := &Relay{opt: o, core: o.Core, transport: o.Transport, news: make(chan struct{}, 1), owners: map[wire.HubID]*owner{}, leaving: map[wire.HubID]*owner{}}
	r.knocks.rows = map[federation.Pin]*knock{}
	r.greeter = greeter{self: o.Core.Self(), speaks: frame.Speaks(o.Newest), maxBody: o.MaxBody, offer: o.offer()}
	_, _ = rand.Read(r.greeter.instance[:]) // documented never to fail
	return r
}

// acceptError ends a relay whose transport cannot accept any more.
type acceptError struct{ err error }

func (e *acceptError) Error() string { return fmt.Sprintf("relay: accepting links: %v", e.err) }
func (e *acceptError) Unwrap() error { return e.err }

// Run links and pumps until ctx ends, says goodbye on every link, and returns when everything it started has ended. It
// returns nil, or what ended the accepting of connections. Run is called once.
func (r *Relay) Run(ctx context.Context) error {
	closeTransport, err := r.openTransport()
	if err != nil {
		return err
	}
	defer closeTransport()
	ctx, cancel := context.WithCancelCause(ctx)
	defer r.running.Wait()
	defer cancel(nil)
	r.syncOwners(ctx) // before accepting: a peer that is there already must find its owner
	r.syncKnocks(ctx)
	r.running.Go(func() { cancel(r.accept(ctx)) })
	for {
		select {
		case <-r.news:
			r.syncOwners(ctx)
			r.syncKnocks(ctx)
		case <-ctx.Done():
			if err, ok := errors.AsType[*acceptError](context.Cause(ctx)); ok {
				return err
			}
			return nil
		}
	}
}

// openTransport makes the QUIC transport where none was given; the returned function closes what it made.
func (r *Relay) openTransport() (closeIt func(), err error) {
	if r.opt.Transport != nil {
		return func() {}, nil
	}
	quic, err := transport.NewQUIC(transport.Options{
		Identity: r.opt.Identity, Socket: r.opt.Socket, Now: r.opt.Now, Log: r.opt.Log, Knocked: r.opt.Knocked,
		Trust: func() certs.Trust { return r.core.Trust() },
	})
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	r.transport = quic
	counts := quic.Refused
	r.refused.Store(&counts)
	return func() { _ = quic.Close() }, nil // every connection is closed by then; there is nobody to tell
}

// syncOwners gives every approved peer an owner, stops the others, and tells those that stay.
func (r *Relay) syncOwners(ctx context.Context) {
	trust := r.core.Trust()
	r.mu.Lock()
	defer r.mu.Unlock()
	for hub, o := range r.owners {
		if _, ok := trust.Peer(hub); !ok {
			o.stop(dismissal(trust, hub))
			delete(r.owners, hub)
			r.leaving[hub] = o
		}
	}
	for _, p := range trust.Peers() {
		if o := r.owners[p.Hub]; o != nil {
			nudge(o.news)
			continue
		}
		o := newOwner(ctx, r, p)
		if old := r.leaving[p.Hub]; old != nil {
			o.after = old.done
			delete(r.leaving, p.Hub)
		}
		o.eager = r.eager
		r.owners[p.Hub] = o
		r.running.Go(o.run)
	}
	r.eager = true
}

// dismissal is why a peer that was approved is not any more.
func dismissal(trust *federation.Trust, hub wire.HubID) *refusal {
	if r, ok := trust.RevokedPeer(hub); ok {
		return refuse(wire.ReasonPeerRevoked, "%s revoked the approval", r.RevokedBy)
	}
	return refuse(wire.ReasonUnknownPeer, "the peer is no longer approved")
}

// nudge signals on a channel of capacity 1.
func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// accept takes connections until ctx ends or accepting fails for good.
func (r *Relay) accept(ctx context.Context) error {
	for {
		conn, err := r.transport.Accept(ctx)
		switch {
		case ctx.Err() != nil:
			if conn != nil {
				_ = conn.Close(wire.ReasonHubShutdown)
			}
			return ctx.Err()
		case err != nil:
			return &acceptError{err}
		}
		r.running.Go(func() { r.meet(ctx, conn) })
	}
}

// meet brings an accepted connection to its peer's owner.
func (r *Relay) meet(ctx context.Context, conn Conn) {
	peer, _ := conn.Peer()
	o := r.owner(peer)
	switch {
	case peer == r.greeter.self:
		sayGoodbye(conn, wire.ReasonSelfDial)
		return
	case o == nil:
		_ = conn.Close(wire.ReasonUnknownPeer)
		return
	}
	defer o.greeting.Add(-1)
	if o.greeting.Add(1) > maxGreeting {
		_ = conn.Close(wire.ReasonLinkDuplicate)
		return
	}
	s, err := r.greeter.accepted(ctx, conn)
	if err != nil {
		r.turnAway(conn, peer, err)
		return
	}
	select {
	case o.offers <- s:
	case <-o.ctx.Done():
		_ = conn.Close(wire.ReasonHubShutdown)
	}
}

// turnAway ends an accepted connection whose hello was not acceptable.
func (r *Relay) turnAway(conn Conn, peer wire.HubID, err error) {
	reason := reasonOf(err, wire.ReasonLinkLost)
	_, remote := errors.AsType[*byeError](err)
	overtaken := remote && reason == wire.ReasonLinkDuplicate // of several calls of the peer, one that it did not need
	if o := r.owner(peer); o != nil && reason != wire.ReasonLinkLost && !overtaken {
		o.turnedAway(reason, err)
	}
	if remote || reason == wire.ReasonLinkLost {
		_ = conn.Close(reason)
		return
	}
	sayGoodbye(conn, reason)
}

func (r *Relay) owner(peer wire.HubID) *owner {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.owners[peer]
}

// Wake says that the lane to peer is synced up to head. It does not block.
func (r *Relay) Wake(peer wire.HubID, head uint64) {
	o := r.owner(peer)
	if o == nil {
		return // its owner will read the head when it makes a link
	}
	for {
		old := o.head.Load()
		if head <= old || o.head.CompareAndSwap(old, head) {
			break
		}
	}
	if l := o.live.Load(); l != nil {
		l.wake()
	}
}

// PeersChanged says that the trust snapshot was replaced. It does not block.
func (r *Relay) PeersChanged() { nudge(r.news) }

// Refused counts the callers that were refused before they were a link, by reason, since the start. It counts nothing
// where the transport was given.
func (r *Relay) Refused() map[wire.Reason]uint64 {
	if counts := r.refused.Load(); counts != nil {
		return (*counts)()
	}
	return nil
}

// Links is the status of every approved peer's link, by hub id.
func (r *Relay) Links() []LinkStatus {
	r.mu.RLock()
	owners := make([]*owner, 0, len(r.owners))
	for _, o := range r.owners {
		owners = append(owners, o)
	}
	r.mu.RUnlock()
	all := make([]LinkStatus, len(owners))
	for i, o := range owners {
		all[i] = o.snapshot()
	}
	slices.SortFunc(all, func(a, b LinkStatus) int { return cmp.Compare(a.Peer, b.Peer) })
	return all
}
