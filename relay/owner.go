package relay

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
	"fleetrelay/relay/transport"
)

// maxGreeting is how many accepted connections of one peer may be saying hello at once.
const maxGreeting = 4

// owner is the one goroutine that decides about the link to one peer.
type owner struct {
	relay    *Relay
	peer     wire.HubID
	offers   chan *session // accepted connections with a hello
	news     chan struct{} // capacity 1: trust changed
	greeting atomic.Int32  // accepted connections that have not offered yet
	head     atomic.Uint64 // synced head of the lane to the peer
	live     atomic.Pointer[link]
	stop     context.CancelCauseFunc
	done     chan struct{}   // closed when run has returned
	after    <-chan struct{} // done of the owner before this one, nil for none: its link must be over first
	eager    bool            // dials at once, whoever dials first otherwise

	// Of run's goroutine.
	relayCtx context.Context // ends with the relay
	ctx      context.Context // ends with this owner
	conf     federation.Peer
	link     *link
	attempt  *attempt
	results  chan dialResult
	ends     chan ended
	timer    *time.Timer
	due      time.Time // when the timer fires for a call, zero while it does not
	schedule *schedule
	lastLink uint64 // number of our last hello
	ups      *rate.Limiter
	upHeld   int // links up since the last that was logged

	mu     sync.Mutex
	status LinkStatus
	noise  noise
}

// attempt is one try to make a link by dialling. It is abandoned by ending its context; whatever it still brings is
// closed unseen.
type attempt struct {
	ctx    context.Context
	cancel context.CancelFunc
	missed atomic.Int64 // calls that nobody answered
	conn   Conn         // once connected
	ours   frame.Hello
}

// dialResult is what an attempt's current step brought: a connection, then a session.
type dialResult struct {
	attempt *attempt
	conn    Conn
	session *session
	err     error
}

func newOwner(ctx context.Context, r *Relay, conf federation.Peer) *owner {
	o := &owner{
		relay: r, relayCtx: ctx, peer: conf.Hub, conf: conf, done: make(chan struct{}),
		offers: make(chan *session), news: make(chan struct{}, 1), results: make(chan dialResult),
		ends: make(chan ended), schedule: newSchedule(r.opt.LongWait), ups: rate.NewLimiter(rate.Every(upEvery), upBurst),
		status: LinkStatus{Peer: conf.Hub, State: Waiting, SinceUS: r.opt.Now().UnixMicro()},
	}
	o.ctx, o.stop = context.WithCancelCause(ctx)
	return o
}

// run decides until the owner is stopped, and returns when its link and its attempt have ended.
func (o *owner) run() {
	defer close(o.done)
	defer o.stop(nil)
	if o.after != nil {
		<-o.after
	}
	o.timer = time.NewTimer(0)
	defer o.timer.Stop()
	o.begin()
	for {
		select {
		case <-o.ctx.Done():
			o.abandon()
			o.endLink(nil)
			return
		case s := <-o.offers:
			o.onOffer(s)
		case res := <-o.results:
			o.onResult(res)
		case e := <-o.ends:
			o.onEnd(e)
		case <-o.timer.C:
			o.onTimer()
		case <-o.news:
			o.onNews()
		}
	}
}

// begin takes up the schedule where it was when the process ended: a peer that refused is not called sooner for a restart.
func (o *owner) begin() {
	b := o.relay.core.Backoff(o.peer)
	o.mu.Lock()
	o.status.RevokedUS = b.RevokedUS
	o.mu.Unlock()
	switch {
	case o.eager: // an operator has just decided
	case b.Attempts > 0:
		o.schedule.refused = int(min(b.Attempts, 1<<20))
		o.mu.Lock()
		o.status.LastReason = b.Reason
		o.mu.Unlock()
		wait := time.UnixMicro(b.NextUS).Sub(o.relay.opt.Now())
		o.dialAfter(min(max(wait, 0), longRefusedWait)) // whatever became of the clock
		o.rest(b.Reason)
	case o.yields():
		o.dialAfter(yieldTime)
	}
}

// onTimer is when a call is due, or when a link has lived long enough to be settled.
func (o *owner) onTimer() {
	o.due = time.Time{}
	if o.link == nil {
		o.dial()
		return
	}
	o.schedule.reset()
	o.keep(hub.Backoff{})
}

// keep journals when the peer is called next. A core that cannot is about to end the process, or the peer is no longer
// approved; either way this owner ends, and until then it keeps to the schedule without.
func (o *owner) keep(b hub.Backoff) {
	if err := o.relay.core.LinkBackoff(o.ctx, o.peer, b); err != nil && o.ctx.Err() == nil {
		o.relay.opt.Log.Warn("when a peer is called next could not be journalled", "peer", o.peer, "error", err)
	}
}

// yields says that the other side dials first.
func (o *owner) yields() bool { return o.relay.greeter.self > o.peer }

// dial begins an attempt where none is under way.
func (o *owner) dial() {
	if o.link != nil || o.attempt != nil || len(o.conf.Endpoints) == 0 || o.ctx.Err() != nil {
		return
	}
	a := &attempt{}
	a.ctx, a.cancel = context.WithCancel(o.ctx)
	o.attempt = a
	o.enter(Dialling)
	to := transport.Target{Endpoints: o.conf.Endpoints, Hub: o.peer, Call: o.relay.call(o.conf.Invite)}
	dial := func(ctx context.Context) (Conn, error) { return o.relay.transport.Dial(ctx, to) }
	o.relay.running.Go(func() {
		conn, err := probe(a.ctx, dial, func(err error) { o.missed(a, err) })
		o.bring(dialResult{attempt: a, conn: conn, err: err})
	})
}

// bring hands the owner a result, or disposes of it when nobody wants it any more.
func (o *owner) bring(res dialResult) {
	select {
	case o.results <- res:
	case <-res.attempt.ctx.Done():
		res.dispose()
	}
}

func (res dialResult) dispose() {
	if res.conn != nil {
		_ = res.conn.Close(wire.ReasonLinkDuplicate)
	}
}

func (o *owner) onResult(res dialResult) {
	switch {
	case res.attempt != o.attempt:
		res.dispose()
	case res.session != nil:
		o.attempt = nil
		o.answered(res.session, res.attempt.ours)
	case res.err != nil:
		o.attempt = nil
		res.attempt.cancel()
		o.refused(res)
	default:
		o.greet(res.attempt, res.conn)
	}
}

// refused ends an attempt that failed. A peer that is not already gone is told why.
func (o *owner) refused(res dialResult) {
	e := ended{reason: o.dialReason(res.err), detail: res.err.Error()}
	_, e.remote = errors.AsType[*byeError](lostOr(res.err))
	switch {
	case res.conn == nil:
	case e.remote || e.reason == wire.ReasonLinkLost:
		_ = res.conn.Close(e.reason)
	default:
		o.relay.running.Go(func() { sayGoodbye(res.conn, e.reason) })
	}
	o.failed(e, true)
}

// dialReason is the word for a failed attempt. A certificate that names this hub means that the endpoint leads back here,
// which says more than that it is not the peer's.
func (o *owner) dialReason(err error) wire.Reason {
	if e, ok := errors.AsType[*certs.Error](err); ok && e.Hub == string(o.relay.greeter.self) {
		return wire.ReasonSelfDial
	}
	return reasonOf(err, wire.ReasonLinkLost)
}

// greet says hello on the connection that the attempt made. No link exists now, so the cursors in it are final.
func (o *owner) greet(a *attempt, conn Conn) {
	a.conn, a.ours = conn, o.hello()
	o.enter(Greeting)
	o.relay.running.Go(func() {
		s, err := o.relay.greeter.dialled(a.ctx, conn, &a.ours)
		o.bring(dialResult{attempt: a, conn: conn, session: s, err: err})
	})
}

// abandon gives up the attempt under way, if any.
func (o *owner) abandon() {
	if o.attempt != nil {
		o.attempt.cancel()
		o.attempt = nil
	}
}

// hello states the cursors. It must be called only while no link is up.
func (o *owner) hello() frame.Hello {
	core := o.relay.core
	o.lastLink++
	epoch, in, out := core.LaneEpoch(o.peer), core.LaneIn(o.peer), core.LaneOut(o.peer)
	return frame.Hello{
		Versions: o.relay.greeter.speaks, Hub: o.relay.greeter.self, Instance: o.relay.greeter.instance, Link: o.lastLink,
		Epoch: epoch.Number, EpochID: epoch.ID, Base: frame.Base{Seq: epoch.Base, Hash: epoch.BaseHash},
		In:    frame.Position{EpochID: in.EpochID, Seq: in.Seq, Hash: in.Hash},
		Out:   frame.Extent{Head: out.Head, Acked: out.Acked},
		Offer: o.relay.greeter.offer,
	}
}

// onOffer decides about a connection that the peer made.
func (o *owner) onOffer(s *session) {
	if !o.wanted(&s.theirs) {
		o.relay.running.Go(func() { sayGoodbye(s.conn, wire.ReasonLinkDuplicate) })
		return
	}
	if why := o.impostor(s); why != nil {
		o.relay.running.Go(func() { sayGoodbye(s.conn, why.reason) })
		o.note(ended{reason: why.reason, detail: why.detail + "; the link that is up stays"})
		return
	}
	o.abandon()
	o.endLink(refuse(wire.ReasonLinkReplaced, "the peer opened link %d", s.theirs.Link))
	if _, err := o.adopt(s); err != nil {
		o.giveUp(s, err)
		return
	}
	o.admit(s, o.hello())
}

// impostor is why a connection must not take the place of the link that is up: a copy of the peer that runs beside it
// would else cut it again and again. Cursors only grow, so what is wrong now is wrong when the link has ended.
func (o *owner) impostor(s *session) *refusal {
	if o.link == nil {
		return nil
	}
	ours, in := o.link.ours, o.relay.core.LaneIn(o.peer)
	ours.In = frame.Position{EpochID: in.EpochID, Seq: in.Seq, Hash: in.Hash}
	return o.fence(s, &ours)
}

// wanted is the tie-break of the package comment.
func (o *owner) wanted(theirs *frame.Hello) bool {
	switch {
	case o.link != nil:
		have := &o.link.theirs
		return theirs.Instance != have.Instance || theirs.Link > have.Link
	case o.attempt != nil && o.attempt.conn != nil: // our hello is under way
		return o.yields()
	}
	return true
}

// admit makes a session the link, unless a cursor forbids it.
func (o *owner) admit(s *session, ours frame.Hello) {
	if why := o.fence(s, &ours); why != nil {
		o.relay.running.Go(func() { sayGoodbye(s.conn, why.reason, lastWord(s, &ours)...) })
		o.failed(ended{reason: why.reason, detail: why.detail}, s.dialled)
		return
	}
	in := s.theirs.In
	err := o.relay.core.LaneTaken(o.ctx, o.peer, hub.Cursor{EpochID: in.EpochID, Seq: in.Seq, Hash: in.Hash}, s.theirs.Out.Head)
	if err != nil {
		o.giveUp(s, err)
		return
	}
	o.head.Store(max(o.head.Load(), o.relay.core.LaneOut(o.peer).Head))
	l := newLink(o, s, ours)
	o.link = l
	o.live.Store(l)
	o.timer.Reset(settledAfter)
	o.due = time.Time{}
	o.enter(Up)
	o.noteUp(l)
	o.relay.running.Go(func() {
		e := l.run()
		select {
		case o.ends <- e:
		case <-o.ctx.Done():
		}
	})
}

func (o *owner) fence(s *session, ours *frame.Hello) *refusal {
	core := o.relay.core
	lane := ownLane{
		epochID: ours.EpochID, out: core.LaneOut(o.peer),
		hashAt: func(seq uint64) ([32]byte, bool) { return core.LaneHash(o.peer, seq) },
	}
	if why := lane.fenceTheirs(s.theirs.In); why != nil {
		return why
	}
	return fenceOurs(&ours.In, &s.theirs)
}

// endLink ends the link there is and waits for it. Without a reason it only waits, for a link whose context has ended.
func (o *owner) endLink(why *refusal) {
	l := o.link
	if l == nil {
		return
	}
	if why != nil {
		l.end(why)
	}
	<-l.done
	o.forget(l)
	o.note(l.ending())
}

// forget takes a link that is over out of service.
func (o *owner) forget(l *link) {
	o.live.Store(nil)
	o.link = nil
	o.timer.Stop()
}

// onEnd takes the end of a link that nobody asked for.
func (o *owner) onEnd(e ended) {
	if e.link != o.link {
		return
	}
	o.forget(e.link)
	o.failed(e, e.link.dialled)
}

// failed notes why there is no link and sets the next attempt. What the peer's calls come to does not put it off: a peer
// that calls and fails again and again would else keep us from calling, and write our journal.
func (o *owner) failed(e ended, ours bool) {
	o.note(e)
	now := o.relay.opt.Now()
	switch kept := o.relay.core.Backoff(o.peer); {
	case !ours && !o.due.IsZero():
	case !ours && isRefusal(e.reason) && kept.NextUS > now.UnixMicro():
		o.dialAfter(min(time.UnixMicro(kept.NextUS).Sub(now), longRefusedWait))
	default:
		o.reschedule(e, now)
	}
	o.rest(e.reason)
}

// reschedule sets the next attempt by the schedule; after a refusal it is journalled first.
func (o *owner) reschedule(e ended, now time.Time) {
	wait := o.schedule.after(e.reason, e.remote, o.yields())
	if len(o.conf.Invite) > 0 {
		wait = min(wait, lastKnock) // the other side may have yet to approve, and no way to tell
	}
	if isRefusal(e.reason) && len(o.conf.Endpoints) > 0 {
		o.keep(hub.Backoff{
			Attempts: uint64(o.schedule.refused), Reason: e.reason, NextUS: now.Add(wait).UnixMicro(), RevokedUS: o.revokedAt(),
		})
		wait = max(0, wait-o.relay.opt.Now().Sub(now)) // the journal's time is not added
	}
	o.dialAfter(wait)
}

// rest shows that nothing happens until the next attempt.
func (o *owner) rest(reason wire.Reason) {
	if needsOperator(reason) {
		o.enter(Fenced)
		return
	}
	o.enter(Waiting)
}

func (o *owner) dialAfter(wait time.Duration) {
	if len(o.conf.Endpoints) == 0 {
		return // the peer dials
	}
	o.timer.Reset(wait)
	o.due = o.relay.opt.Now().Add(wait)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status.NextUS = o.due.UnixMicro()
}

// onNews takes a changed trust: the link ends if its key is no longer approved, and a peer that waits is tried at once
// if something about it changed or an operator may have settled what fenced it.
func (o *owner) onNews() {
	conf, ok := o.relay.core.Trust().Peer(o.peer)
	if !ok {
		return // the relay stops this owner
	}
	changed := !slices.Equal(conf.Endpoints, o.conf.Endpoints) || !slices.Equal(conf.Pins, o.conf.Pins)
	o.conf = conf
	if l := o.link; l != nil {
		switch {
		case !slices.Contains(conf.Pins, federation.Pin(l.pin)):
			l.end(refuse(wire.ReasonPinMismatch, "the link's key is no longer approved"))
		case o.relay.core.LaneEpoch(o.peer).ID != l.ours.EpochID:
			l.end(refuse(wire.ReasonRewound, "the lane to the peer was reconciled while the link was up"))
		}
		return
	}
	if changed || o.stateNow() == Fenced {
		o.schedule.reset()
		o.abandon()
		o.timer.Stop()
		o.due = time.Time{}
		o.dial()
	}
}
