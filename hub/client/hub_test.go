package client_test

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetrelay/hub/client"
	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testHub is just enough of a hub on real sockets: names, chats with a journal in memory, the mailbox, receipts on ack.
type testHub struct {
	id    wire.HubID
	opts  socket.Options
	token string

	mu    sync.Mutex
	seq   uint64
	chats []*stored
	names map[string]*session
	acked []uint64
	heard []wire.Heartbeat
	plan  plan

	srv    *http.Server
	lis    net.Listener
	served sync.WaitGroup
}

// plan is what a test makes the hub do wrong. It is guarded by mu.
type plan struct {
	loseCopies bool                                   // accept without telling the sender
	cutBefore  int                                    // cut the connection instead of taking the n-th chat, counted down
	cutAfter   int                                    // cut it after taking the n-th chat, its copy untold
	refuse     func(*wire.Chat) (answer, refuse bool) // refuse a chat, with or without an answer
	twice      bool                                   // send every chat twice
}

type stored struct {
	frame  wire.ChatFrame
	target wire.Target
}

type session struct {
	hub  *testHub
	sock *socket.Socket
	name string
	hb   wire.Heartbeat
}

type one []byte

func (o one) Frames(yield func([]byte) bool) { yield(o) }
func (o one) Size() int                      { return len(o) }
func (one) Written(bool)                     {}

func startHub(t testing.TB, h *testHub) *testHub {
	t.Helper()
	h.id = cmp.Or(h.id, "hub-1")
	h.names = map[string]*session{}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.serve(lis)
	t.Cleanup(h.stop)
	return h
}

func (h *testHub) serve(lis net.Listener) {
	h.lis = lis
	h.srv = &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	h.served.Go(func() { _ = h.srv.Serve(lis) })
}

// stop closes every socket with 1001 and the listener.
func (h *testHub) stop() {
	_ = h.srv.Close()
	h.mu.Lock()
	for _, s := range h.names {
		s.sock.Close(wire.ReasonHubShutdown)
	}
	h.mu.Unlock()
	h.served.Wait()
}

func (h *testHub) url() string { return "ws://" + h.lis.Addr().String() }

func (h *testHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.served.Add(1)
	defer h.served.Done()
	sock, err := socket.Upgrade(w, r, h.opts)
	if err != nil {
		return
	}
	s := &session{hub: h, sock: sock}
	if h.token == "" {
		s.welcome()
	}
	sock.Run(context.Background(), s.take)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names[s.name] == s {
		delete(h.names, s.name)
	}
}

func (s *session) welcome() {
	w := wire.Welcome{HubID: s.hub.id, ConnectedClients: 1}
	s.sock.Send(one(w.Append(nil)))
}

func (s *session) take(b []byte) error {
	in, bad := wire.ParseInbound(b, wire.Limits{})
	if bad != nil {
		return bad
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.name == "" && !s.bind(&in) {
		return nil
	}
	switch in.Type {
	case wire.TypeHeartbeat:
		s.hb = in.Heartbeat()
		s.hub.heard = append(s.hub.heard, s.hb)
		if s.hb.Mailbox {
			s.replay(s.hb.SinceSeq)
		}
	case wire.TypeAck:
		if a, ok := in.Ack(); ok {
			s.hub.acked = append(s.hub.acked, a.Seq)
		}
	case wire.TypeWhoRequest:
		who := wire.WhoSnapshot{HubID: s.hub.id, OnlineAgents: []string{s.name}}
		s.sock.Send(one(who.Append(nil)))
	case wire.TypeChat:
		c, bad := in.Chat()
		if bad != nil {
			return bad
		}
		s.hub.chat(s, &c)
	}
	return nil
}

func (s *session) bind(in *wire.Inbound) bool {
	h := s.hub
	if h.token != "" {
		if in.Token != h.token {
			f := wire.AuthDenied{HubID: h.id, Target: in.Sender, Text: wire.AuthDeniedText(wire.ReasonTokenInvalid, in.Sender)}
			s.sock.Send(one(f.Append(nil)))
			s.sock.Close(wire.ReasonTokenInvalid)
			return false
		}
		s.welcome()
	}
	old := h.names[in.Sender]
	if hb := in.Heartbeat(); old != nil && !hb.Takeover {
		f := wire.NameConflict{HubID: h.id, Target: in.Sender, Text: wire.NameTakenText(in.Sender)}
		s.sock.Send(one(f.Append(nil)))
		s.sock.Close(wire.ReasonNameConflict)
		return false
	}
	s.name = in.Sender
	h.names[s.name] = s
	if old != nil {
		old.sock.Close(wire.ReasonSuperseded)
		return true
	}
	p := wire.PresenceUpdate{HubID: h.id, Event: wire.PresenceJoined, Agent: s.name, OnlineAgents: []string{s.name}}
	s.sock.Send(one(p.Append(nil)))
	return true
}

func (h *testHub) chat(s *session, c *wire.Chat) {
	if due(&h.plan.cutBefore) {
		s.cutLocked(wire.ReasonHubShutdown)
		return
	}
	if h.plan.refuse != nil {
		if answer, refuse := h.plan.refuse(c); refuse {
			if answer {
				f := wire.ErrorFrame{HubID: h.id, Target: s.name, Text: "No.", Code: wire.ReasonNotPermitted, ClientMsgID: c.ClientMsgID}
				s.sock.Send(one(f.Append(nil)))
			}
			return
		}
	}
	h.seq += 2 // receipts and the like share the sequence, so it has gaps
	st := &stored{target: wire.CompileTarget(c.Target), frame: wire.ChatFrame{
		Sender: s.name, Target: c.Target, HasTarget: c.HasTarget, HubID: h.id, MsgID: uint64(len(h.chats) + 1), Seq: h.seq,
		TimeUS: time.Now().UnixMicro(), Body: c.Body,
	}}
	h.chats = append(h.chats, st)
	cut := due(&h.plan.cutAfter)
	for name, to := range h.names {
		if name == s.name && (h.plan.loseCopies || cut) {
			continue
		}
		to.sock.Send(one(st.frame.Append(nil)))
		if h.plan.twice {
			to.sock.Send(one(st.frame.Append(nil)))
		}
	}
	if cut {
		s.cutLocked(wire.ReasonHubShutdown)
	}
}

// cutLocked closes the connection and frees its name at once, as a hub does: a client that is back before the socket's
// goroutine has ended meets no conflict with itself.
func (s *session) cutLocked(reason wire.Reason) {
	s.sock.Close(reason)
	if s.hub.names[s.name] == s {
		delete(s.hub.names, s.name)
	}
}

func due(n *int) bool {
	if *n == 0 {
		return false
	}
	*n--
	return *n == 0
}

func (s *session) replay(since uint64) {
	for _, st := range s.hub.chats {
		if st.frame.Seq > since && st.frame.Sender != s.name && st.target.Directed() && st.target.Matches(s.name, s.hb.Roles) {
			f := st.frame
			f.Replayed = true
			s.sock.Send(one(f.Append(nil)))
		}
	}
}

func (h *testHub) set(f func(*plan)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.plan)
}

// drop cuts every connection, as a hub does that stops, and goes on listening.
func (h *testHub) drop(reason wire.Reason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.names {
		s.cutLocked(reason)
	}
}

// texts are the payloads the hub took, in order.
func (h *testHub) texts() (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, st := range h.chats {
		o, _ := wire.ParseObject(st.frame.Body, wire.Limits{})
		v, _ := o.Get("payload")
		s, _ := v.Text()
		out = append(out, s)
	}
	return out
}

func (h *testHub) ackedSeqs() []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.acked)
}

// log collects events and frames, and waits for some.
type log struct {
	mu     sync.Mutex
	events []client.Event
	sent   []string
	more   chan struct{}
}

func newLog() *log { return &log{more: make(chan struct{}, 1)} }

func (l *log) OnSent(frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, string(frame))
}

func (l *log) OnEvent(ev client.Event) {
	l.mu.Lock()
	l.events = append(l.events, ev)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *log) all() []client.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

func (l *log) frames() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

// until waits for a condition on what was told so far.
func (l *log) until(t testing.TB, what string, ok func([]client.Event) bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		l.mu.Lock()
		done := ok(l.events)
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-l.more:
		case <-deadline.C:
			t.Fatalf("no %s; events: %+v", what, l.all())
		}
	}
}

func of[T client.Event](events []client.Event) (out []T) {
	for _, ev := range events {
		if ev, ok := ev.(T); ok {
			out = append(out, ev)
		}
	}
	return out
}

// chatTexts are the payloads of the chats told.
func chatTexts(events []client.Event) (out []string) {
	for _, c := range of[client.Chat](events) {
		s, _ := c.Payload.Text()
		out = append(out, s)
	}
	return out
}

func dial(t testing.TB, h *testHub, o client.Options) (*client.Client, *log) {
	t.Helper()
	l := newLog()
	o.URL, o.Recorder, o.Token = h.url(), l, h.token
	o.MinBackoff = cmp.Or(o.MinBackoff, time.Millisecond)
	c, err := client.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, l
}
