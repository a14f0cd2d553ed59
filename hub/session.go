package hub

import (
	"context"
	"crypto/sha256"
	"sync"
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

	// Owned by the core.
	name         string // the bound name, "" before
	logical      string // the identity a sidecar stands for, else the name
	roles        []string
	wake         string
	lastFrame    int64 // Unix microseconds; heartbeats count
	lastReaction int64 // heartbeats do not count, registration does
	isBound      bool
	gone         bool

	mu    sync.Mutex
	notes []uint64 // notifications written and not yet settled
	asked bool     // a notesSettled command is on its way
}

// serve runs one admitted socket to its end. It returns when nothing of it is
// left.
func (h *Hub) serve(ctx context.Context, sock *socket.Socket) {
	s := &session{hub: h, sock: sock, src: newSource(sourceDepth), anonymous: h.inventName()}
	timeout := time.AfterFunc(h.opts.RegistrationTimeout, func() { s.expire(ctx) })
	defer timeout.Stop()
	if err := h.in.push(ctx, s.src, &connectCommand{s: s}); err != nil {
		sock.Close(wire.ReasonHubShutdown)
	}
	sock.Run(ctx, func(msg []byte) error { return s.receive(ctx, msg) })
	h.gate.leave(sock.RemoteHost(), s.as != "")
	h.leave(s)
}

// expire closes a socket that has bound no name in time. The core decides, since
// a binding may be on its way.
func (s *session) expire(ctx context.Context) {
	_ = s.hub.in.push(ctx, s.src, &registrationExpired{s: s}) // after a stop the socket is closed anyway
}

// receive turns one message into commands, in order. It blocks while this
// socket's own queue is full.
func (s *session) receive(ctx context.Context, msg []byte) error {
	in, bad := wire.ParseInbound(msg, wire.Limits{MaxBytes: s.hub.opts.Limits.FrameBytes})
	if bad != nil {
		return s.push(ctx, &malformed{s: s, bound: s.as != "", err: bad})
	}
	if s.as == "" {
		bound, err := s.register(ctx, &in)
		if err != nil || !bound || in.Type == wire.TypeHeartbeat {
			return err
		}
	} else if in.Sender != "" && in.Sender != s.as {
		return s.push(ctx, &switchName{s: s, to: in.Sender})
	}
	return s.dispatch(ctx, &in)
}

// dispatch hands a bound session's frame to the core.
func (s *session) dispatch(ctx context.Context, in *wire.Inbound) error {
	switch in.Type {
	case wire.TypeHeartbeat:
		return s.push(ctx, &heartbeat{s: s, hb: in.Heartbeat()})
	case wire.TypeChat:
		chat, bad := in.Chat()
		if bad != nil {
			return s.push(ctx, &malformed{s: s, bound: true, err: bad, chat: chat})
		}
		return s.push(ctx, &chatCommand{
			from: s, sender: s.as, principal: s.principal, chat: chat, target: wire.CompileTarget(chat.Target),
		})
	case wire.TypeAck:
		ack, ok := in.Ack()
		if !ok {
			return s.push(ctx, &touch{s: s})
		}
		return s.push(ctx, &ackCommand{s: s, ack: ack})
	case wire.TypeWhoRequest:
		return s.push(ctx, &whoCommand{s: s})
	case wire.TypeStateRequest:
		return s.push(ctx, &stateCommand{s: s})
	}
	return s.push(ctx, &malformed{s: s, bound: true, err: wire.UnknownType(in.Type)})
}

// register asks the core to bind the first frame's name and waits for its
// decision, so that the next frame is judged under that name.
func (s *session) register(ctx context.Context, in *wire.Inbound) (bound bool, err error) {
	name := in.Sender
	if name == "" {
		name = s.anonymous
	}
	cmd := &bindCommand{
		s: s, name: name, hasToken: in.Token != "", token: sha256.Sum256([]byte(in.Token)),
		isHeartbeat: in.Type == wire.TypeHeartbeat, verdict: make(chan bindVerdict, 1),
	}
	if cmd.isHeartbeat {
		cmd.hb = in.Heartbeat()
	}
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
// core lives: a name without a socket would stay bound for ever.
func (h *Hub) leave(s *session) {
	_ = h.in.push(context.Background(), s.src, &disconnect{s: s}) // fails only once the core has stopped
}

// took collects a notification the socket has taken and lets the core settle
// it. When the queue is full the next one takes it along; if none follows, the
// row is sent again at the next registration under the same id.
func (s *session) took(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, seq)
	if !s.asked {
		s.asked, _ = s.hub.in.offer(s.hub.settling, &notesSettled{s: s})
	}
}

// takeNotes is called by the core when it settles what was collected.
func (s *session) takeNotes() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes, s.asked = nil, false
	return notes
}
