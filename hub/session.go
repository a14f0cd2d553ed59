package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// session is one agent's socket and, once bound, its name.
type session struct {
	// Static.
	hub       *Hub
	sock      *socket.Socket
	src       *source
	anonymous string // the name invented if the first frame gives none

	// Owned by the reader.
	as        string // the bound name, "" before the core has bound it
	principal string
	refused   bool // the socket is about to be closed: nothing more is read

	// Owned by the core; what is atomic is read by queries, too.
	name     string // the bound name, "" before
	logical  string // the identity a sidecar stands for, else the name
	tokenID  string // the token it registered with, "" on an open hub
	said     atomic.Pointer[declaration]
	isBound  bool
	welcomed bool
	ended    bool // told to go, or gone

	lastFrame    atomic.Int64 // Unix microseconds; heartbeats count
	lastReaction atomic.Int64 // heartbeats do not count, registration does

	mu    sync.Mutex
	notes []uint64 // notifications written and not yet settled, oldest first
	seen  int      // of these, written before the pause that is under way began
	aged  int      // of these, written before the pause before it: to be settled
	pause bool     // one is under way
	asked bool     // a notesSettled command is on its way
}

// declaration is what an agent says of itself. It is replaced, never altered.
type declaration struct {
	roles []string
	wake  string
}

var nothingSaid declaration

func (s *session) declared() *declaration {
	if d := s.said.Load(); d != nil {
		return d
	}
	return &nothingSaid
}

func (s *session) roles() []string { return s.declared().roles }

// wake is the declared wake capability, "" when unknown.
func (s *session) wake() string {
	if w := s.declared().wake; w != wire.WakeUnknown {
		return w
	}
	return ""
}

// serve runs one admitted socket to its end. It returns when nothing of it is
// left.
func (h *Hub) serve(ctx context.Context, sock *socket.Socket) {
	s := &session{hub: h, sock: sock, src: newSource(sourceDepth), anonymous: h.inventName()}
	timeout := time.AfterFunc(h.opts.RegistrationTimeout, func() { s.expire(ctx) })
	defer timeout.Stop()
	if err := h.in.push(ctx, s.src, &connectCommand{bySession{s: s}}); err != nil {
		sock.Close(wire.ReasonHubShutdown)
	}
	reason := sock.Run(ctx, func(msg []byte) error { return s.receive(ctx, msg) })
	if !countedByCore(reason) {
		h.refusals.note(reason, "connection ended", cmp.Or(s.as, sock.RemoteHost()))
	}
	h.gate.leave(sock.RemoteHost(), s.as != "")
	h.leave(s, reason)
}

// expire closes a socket that has bound no name in time. The core decides, since
// a binding may be on its way.
func (s *session) expire(ctx context.Context) {
	_ = s.hub.in.push(ctx, s.src, &registrationExpired{bySession{s: s}}) // after a stop the socket is closed anyway
}

// receive turns one message into commands, in order. It blocks while this
// socket's own queue is full. After a frame that ends the socket the rest is
// dropped: a socket has one first frame, and one guess at a token.
func (s *session) receive(ctx context.Context, msg []byte) error {
	if s.refused {
		return nil
	}
	in, bad := wire.ParseInbound(msg, wire.Limits{MaxBytes: s.hub.opts.Limits.FrameBytes})
	if bad != nil {
		s.refused = s.as == ""
		return s.push(ctx, &malformed{bySession: bySession{s: s}, bound: s.as != "", err: bad})
	}
	if s.as == "" {
		bound, err := s.register(ctx, &in)
		s.refused = !bound
		if err != nil || !bound || in.Type == wire.TypeHeartbeat {
			return err
		}
	} else if in.Sender != "" && in.Sender != s.as {
		s.refused = true
		return s.push(ctx, &switchName{bySession: bySession{s: s}, to: in.Sender})
	}
	return s.dispatch(ctx, &in)
}

// dispatch hands a bound session's frame to the core.
func (s *session) dispatch(ctx context.Context, in *wire.Inbound) error {
	by := bySession{s: s}
	switch in.Type {
	case wire.TypeHeartbeat:
		return s.push(ctx, &heartbeat{bySession: by, hb: in.Heartbeat()})
	case wire.TypeChat:
		chat, bad := in.Chat()
		if bad != nil {
			return s.push(ctx, &malformed{bySession: by, bound: true, err: bad, chat: chat})
		}
		if chat.Answer != nil {
			s.hub.warm(chat.Answer.ToSeq)
		}
		return s.push(ctx, &chatCommand{
			from: s, sender: s.as, principal: s.principal, chat: chat, target: wire.CompileTarget(chat.Target),
		})
	case wire.TypeAck:
		ack, ok := in.Ack()
		if !ok {
			return s.push(ctx, &touch{by})
		}
		s.hub.warm(ack.Seq)
		return s.push(ctx, &ackCommand{bySession: by, acks: []wire.Ack{ack}})
	case wire.TypeWhoRequest:
		return s.push(ctx, &whoCommand{by})
	case wire.TypeStateRequest:
		return s.push(ctx, &stateCommand{by})
	}
	return s.push(ctx, &malformed{bySession: by, bound: true, err: wire.UnknownType(in.Type)})
}

// register asks the core to bind the first frame's name and waits for its
// decision, so that the next frame is judged under that name.
func (s *session) register(ctx context.Context, in *wire.Inbound) (bound bool, err error) {
	name := in.Sender
	if name == "" {
		name = s.anonymous
	}
	cmd := &bindCommand{
		bySession: bySession{s: s}, name: name, hasToken: in.Token != "", token: sha256.Sum256([]byte(in.Token)),
		isHeartbeat: in.Type == wire.TypeHeartbeat, verdict: make(chan bindVerdict, 1),
	}
	if cmd.isHeartbeat {
		cmd.hb = in.Heartbeat()
	}
	s.hub.warmNames(name)
	if err := s.push(ctx, cmd); err != nil {
		return false, err
	}
	select {
	case v := <-cmd.verdict:
		if v.bound {
			s.as, s.principal = name, v.principal
			s.hub.gate.bound()
		}
		return v.bound, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-s.hub.coreDone:
		return false, errStopped
	}
}

func (s *session) push(ctx context.Context, cmd command) error { return s.hub.in.push(ctx, s.src, cmd) }

// leave tells the core that the socket has ended. It does not give up while the
// core lives: a name without a socket would stay bound for ever. A client that said
// goodbye has had what was written before it.
func (h *Hub) leave(s *session, reason wire.Reason) {
	if reason == wire.ReasonClientClosed {
		for range s.ageAll() {
			_ = h.in.push(context.Background(), s.src, &notesSettled{s: s}) // else they are sent again
		}
	}
	_ = h.in.push(context.Background(), s.src, &disconnect{bySession{s: s}}) // fails only once the core has stopped
}

// notesAtOnce bounds the notifications settled by one event.
const notesAtOnce = 256

// notesPause is the pause of which a whole one passes, on a connection that lives, between the writing of a notification
// and its being settled, unless the client ends the connection in order. What the operating system has taken is not yet read: when this process or the connection dies
// at once, it never is, and the row is sent again under the same id.
const notesPause = 250 * time.Millisecond

// took collects notifications the socket has taken and lets the core settle them after a pause. When the queue is full
// the next ones take them along; if none follow, the rows are sent again at the next registration under the same ids.
func (s *session) took(seqs ...uint64) {
	if len(seqs) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, seqs...)
	s.pauseLocked()
}

func (s *session) pauseLocked() {
	if !s.pause && len(s.notes) > s.aged {
		s.pause = true
		time.AfterFunc(notesPause, s.paused)
	}
}

// paused ends a pause: what was there when it began is old enough.
func (s *session) paused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = false
	s.aged, s.seen = s.seen, len(s.notes)
	s.askLocked()
	s.pauseLocked()
}

// ageAll makes all there is old enough, and returns how many events it takes to settle that.
func (s *session) ageAll() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aged, s.seen = len(s.notes), len(s.notes)
	return (len(s.notes) + notesAtOnce - 1) / notesAtOnce
}

func (s *session) askLocked() {
	if !s.asked && s.aged > 0 {
		s.asked, _ = s.hub.in.offer(s.hub.settling, &notesSettled{s: s})
	}
}

// taken lists the oldest notifications to be settled, for the core.
func (s *session) taken() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes[:min(s.aged, notesAtOnce)])
}

// forget drops n of them once they are settled and asks again for the rest.
func (s *session) forget(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes = s.notes[n:]; len(s.notes) == 0 {
		s.notes = nil
	}
	s.aged, s.seen = s.aged-n, s.seen-n
	s.asked = false
	s.askLocked()
}
