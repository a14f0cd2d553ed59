package relay

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"fleetrelay/certs"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
	"fleetrelay/relay/transport"
)

// farewellTime bounds how long the end of a link waits for the peer to take the goodbye.
const farewellTime = time.Second

// session is a connection whose peer has said hello.
type session struct {
	conn    Conn
	pin     certs.Pin
	in      *frame.Reader
	theirs  frame.Hello
	version frame.Version // the highest that both speak
	unknown []string      // members of the peer's offer that this build does not know
	pulse   *pulse
	dialled bool // by us
}

// link is the live conversation with a peer: what its run starts, its run ends. Its reader owns the intake; its writer
// owns the batch; the rest is shared as noted.
type link struct {
	session
	core       Core
	peer       wire.HubID
	ours       frame.Hello
	generation uint64 // of this side: later links have higher ones
	since      time.Time

	relayCtx context.Context // ends with the relay
	ctx      context.Context // ends with the link; its cause is why
	cancel   context.CancelCauseFunc
	done     chan struct{}  // closed when run has returned
	kick     chan struct{}  // capacity 1: the writer has something to look at
	head     *atomic.Uint64 // synced head of our lane, raised by Wake

	intake   intake              // reader
	acks     *acks               // reader, writer and the core's callbacks
	settles  chan frame.Ack      // from the reader to settle
	batches  chan []hub.InRecord // from the reader to hand
	helpers  sync.WaitGroup      // settle, hand, open and beating
	owed     atomic.Int64        // batches that the core has and has not answered
	answered chan struct{}       // capacity 1: owed fell to 0

	mu     sync.Mutex
	window sendWindow // writer adds, reader acknowledges
	stale  uint64     // acks beyond what was sent, ignored
	accord accord     // profile and digest never change

	agreed  chan struct{} // closed when both sides have said the same profile
	leaving bool          // open's, then run's: the core was told that records may leave
	beatDue atomic.Bool
	now     func() time.Time // the clock that is shown
	note    func(ended)      // shows what is wrong with a link that stays up

	batch   frame.Batch // writer
	scratch []byte      // writer
}

// ended is the cause of a link's end as its owner sees it.
type ended struct {
	link   *link
	reason wire.Reason
	detail string
	remote bool // the peer said so
}

// byeError is the goodbye of the peer.
type byeError struct{ reason wire.Reason }

func (e *byeError) Error() string           { return "the peer said goodbye: " + string(e.reason) }
func (e *byeError) WireReason() wire.Reason { return e.reason }

func newLink(o *owner, s *session, ours frame.Hello) *link {
	l := &link{
		session: *s, core: o.relay.core, peer: o.peer, ours: ours, generation: ours.Link, since: o.relay.opt.Now(),
		relayCtx: o.relayCtx, done: make(chan struct{}), kick: make(chan struct{}, 1), answered: make(chan struct{}, 1), head: &o.head, settles: make(chan frame.Ack, settleDepth),
		batches: make(chan []hub.InRecord, WindowRecords),
		intake: intake{
			peer: o.peer, epoch: s.theirs.Epoch, epochID: s.theirs.EpochID, seq: ours.In.Seq, hash: ours.In.Hash,
			limits: wire.Limits{MaxBytes: o.relay.opt.MaxBody},
		},
	}
	l.intake.sent = l.sentUpTo
	l.now, l.note, l.agreed = o.relay.opt.Now, o.note, make(chan struct{})
	l.accord = newAccord(s.version, ours.Offer, s.theirs.Offer)
	l.beatDue.Store(true)
	l.ctx, l.cancel = context.WithCancelCause(o.ctx)
	l.acks = newAcks(ours.In.Seq, l.core.LaneRefused(o.peer, s.theirs.Out.Acked))
	l.window.sent, l.window.acked = s.theirs.In.Seq, s.theirs.In.Seq
	return l
}

// run pumps until the link ends, for whatever reason, and returns when nothing it started is left and the core has
// answered every batch: only then may a new hello state a cursor.
func (l *link) run() ended {
	defer close(l.done)
	over, writing := make(chan struct{}), make(chan struct{})
	guard := l.guard(over)
	go func() {
		defer close(writing)
		l.write()
	}()
	l.helpers.Go(l.settle)
	l.helpers.Go(l.hand)
	l.helpers.Go(l.open)
	l.helpers.Go(l.beating)
	l.cancel(l.read())
	if l.owesGoodbye() {
		<-writing
		_, _ = io.Copy(io.Discard, l.conn) // until the peer has taken the goodbye and closed, or the guard does
	} else {
		_ = l.conn.Close(l.ending().reason)
		<-writing
	}
	close(over)
	<-guard
	l.helpers.Wait()
	l.leave()
	l.awaitAnswers()
	return l.ending()
}

// awaitAnswers returns when the core owes no answer, or when the whole relay ends and nobody will state a cursor again.
func (l *link) awaitAnswers() {
	for l.owed.Load() > 0 {
		select {
		case <-l.answered:
		case <-l.relayCtx.Done():
			return
		}
	}
}

// guard closes the connection once the link is over, or has been ending for too long.
func (l *link) guard(over <-chan struct{}) <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-l.ctx.Done()
		if l.owesGoodbye() {
			t := time.NewTimer(farewellTime)
			defer t.Stop()
			select {
			case <-over:
			case <-t.C:
			}
		}
		_ = l.conn.Close(l.ending().reason)
	}()
	return closed
}

// end asks the link to end. The first reason counts.
func (l *link) end(why *refusal) { l.cancel(why) }

// ending is why the link ends, once its context is done.
func (l *link) ending() ended {
	cause := context.Cause(l.ctx)
	// Every cause from within has a word of its own; one without is the end of the relay's context.
	e := ended{link: l, reason: reasonOf(cause, wire.ReasonHubShutdown), detail: cause.Error()}
	_, e.remote = errors.AsType[*byeError](cause)
	return e
}

// owesGoodbye tells ends that the peer should hear of from those it knows of or cannot hear.
func (l *link) owesGoodbye() bool {
	e := l.ending()
	switch e.reason {
	case wire.ReasonLinkLost, wire.ReasonLinkReplaced, wire.ReasonLinkDuplicate:
		return false
	}
	return !e.remote
}

// wake makes the writer look for work.
func (l *link) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// read takes frames until the link ends. What it returns is the cause.
func (l *link) read() error {
	for {
		f, err := l.in.Next()
		switch {
		case err != nil:
			return lostOr(err)
		case l.ctx.Err() != nil:
			return l.ctx.Err() // a cause is set already
		}
		if err := l.handle(f); err != nil {
			return err
		}
	}
}

// lostOr keeps an error that has a word of its own and calls every other one a lost link. A reason by which the peer
// closed the connection is its goodbye: the frame may have been lost with the rest.
func lostOr(err error) error {
	if e, ok := errors.AsType[*byeError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Remote && e.Reason != wire.ReasonLinkLost {
		return &byeError{e.Reason}
	}
	if e, ok := errors.AsType[*frame.Error](err); ok {
		return &refusal{e.Reason, e.Detail}
	}
	return &refusal{reasonOf(err, wire.ReasonLinkLost), err.Error()}
}

func (l *link) handle(f frame.Frame) error {
	switch f.Type {
	case wire.LinkRecords:
		return l.onRecords(f)
	case wire.LinkAck:
		return l.onAck(f)
	case wire.LinkProfile:
		return l.onProfile(f)
	case wire.LinkBeat:
		return l.onBeat(f)
	case wire.LinkBye:
		b, err := frame.ParseBye(f)
		if err != nil {
			return lostOr(err)
		}
		return &byeError{b.Reason}
	}
	return refuse(wire.ReasonLinkProtocol, "%s on a link that is up", f.Type)
}

// onRecords checks the new records of a frame and puts them on their way to the core. It waits only for a peer that
// overruns the window, so that with any other one an ack behind the records is read however slow the core is.
func (l *link) onRecords(f frame.Frame) error {
	rs, err := frame.ParseRecords(f)
	if err != nil {
		return lostOr(err)
	}
	if err := l.canTake(); err != nil {
		return err
	}
	recs, err := l.intake.take(rs)
	if err != nil {
		return err
	}
	if len(recs) == 0 {
		l.acks.again()
		l.wake()
		return nil
	}
	for !l.acks.take(len(recs), l.intake.seq, len(f.Payload)) {
		select {
		case <-l.acks.room:
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
	}
	l.batches <- recs // never blocks: the window admits no more records than it has room for batches
	return nil
}

// onAck opens the window and passes the ack on to be settled. One that is not of this link's records is ignored: a peer
// that confuses its connections must not be believed, and need not be cut off.
func (l *link) onAck(f frame.Frame) error {
	a, err := frame.ParseAck(f)
	if err != nil {
		return lostOr(err)
	}
	if !l.acknowledge(a.Seq) {
		return nil
	}
	l.wake()
	select {
	case l.settles <- a:
	case <-l.ctx.Done():
	}
	return nil
}

// sentUpTo is the last record of our lane that was given to this connection, or that the peer held before.
func (l *link) sentUpTo() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.window.sent
}

// acknowledge moves the window; false says that the ack is to be ignored: it is beyond what was sent on this link, or
// below what was already acknowledged.
func (l *link) acknowledge(seq uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < l.window.acked || !l.window.ack(seq) {
		l.stale++
		return false
	}
	return true
}
