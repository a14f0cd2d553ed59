package hub

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// operatorCommand is a wish of an operator. run either fails or drafts; decide
// answers through reply after the sync.
type operatorCommand struct {
	small
	run   func(v *view, d *draft) error
	reply chan error // capacity 1
}

func (c *operatorCommand) quarantined(_ *view, d *draft) {
	d.answer(c.reply, &Error{Reason: wire.ReasonQuarantined, Text: "the command could not be processed"})
}

func (c *operatorCommand) decide(v *view, d *draft) { d.answer(c.reply, c.run(v, d)) }

// operate runs one operator's wish through the core and waits for its sync. What
// run fills in for its caller may be read only after operate returned nil: after
// an error the core may still be about to write it.
func (h *Hub) operate(ctx context.Context, run func(v *view, d *draft) error) error {
	c := &operatorCommand{run: run, reply: make(chan error, 1)}
	if err := h.in.push(ctx, h.operators, c); err != nil {
		return err
	}
	return h.await(ctx, c.reply)
}

// await waits for an answer of the core.
func (h *Hub) await(ctx context.Context, reply <-chan error) error {
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-h.done:
	}
	select {
	case err := <-reply: // among the last things told
		return err
	default:
		return errStopped
	}
}

// TokenInfo describes a token without its secret.
type TokenInfo struct {
	ID        string `json:"id"`
	Seat      string `json:"seat"`
	By        string `json:"by"`
	CreatedUS int64  `json:"created_us"`
}

// CreateToken makes a token that registers seat and its sidecars. The secret is
// returned once and only its hash is kept. The first token of a hub secures it:
// agents that registered without one are disconnected, and every registration
// needs one from then on.
func (h *Hub) CreateToken(ctx context.Context, seat, by string) (id, secret string, err error) {
	if bad := wire.ValidLocalName(seat); bad != nil {
		return "", "", &Error{Reason: bad.Reason, Text: bad.Text}
	}
	raw := make([]byte, 36)
	if _, err := io.ReadFull(h.opts.Rand, raw); err != nil {
		return "", "", fmt.Errorf("hub: random token: %w", err)
	}
	id = hex.EncodeToString(raw[:4])
	secret = "flt_" + base64.RawURLEncoding.EncodeToString(raw[4:])
	err = h.operate(ctx, func(v *view, d *draft) error {
		if _, taken := v.st.tokens[id]; taken {
			return &Error{Reason: wire.ReasonInternalError, Text: "token id taken", Next: "try again"}
		}
		if !v.secured() {
			for _, s := range v.ro.everybody() {
				d.closeAfter(s, wire.ReasonAuthRequired)
			}
		}
		d.add(v.now, journal.TokenCreated{ID: id, Seat: seat, By: by, Hash: sha256.Sum256([]byte(secret))})
		return nil
	})
	return id, secret, err
}

// RevokeToken ends a token and closes the sockets that registered with it.
// Revoking the last one opens the hub again, so it is refused while others would
// be let in without a token from beyond this machine: that check is the caller's.
func (h *Hub) RevokeToken(ctx context.Context, id, by string) error {
	return h.operate(ctx, func(v *view, d *draft) error {
		if _, ok := v.st.tokens[id]; !ok {
			return &Error{Reason: wire.ReasonTokenInvalid, Text: "no token has this id", Next: "fleet agent token list"}
		}
		d.add(v.now, journal.TokenRevoked{ID: id, By: by})
		for _, s := range v.ro.everybody() {
			if s.tokenID == id {
				d.closeAfter(s, wire.ReasonAuthDenied)
			}
		}
		return nil
	})
}

// Tokens lists the live tokens by id.
func (h *Hub) Tokens(ctx context.Context) ([]TokenInfo, error) {
	var out []TokenInfo
	err := h.operate(ctx, func(v *view, _ *draft) error {
		for _, id := range sortedKeys(v.st.tokens) {
			t := v.st.tokens[id]
			out = append(out, TokenInfo{ID: t.id, Seat: t.seat, By: t.by, CreatedUS: t.createdUS})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// SendRequest is a chat sent by an operator in the name of a seat. It binds no
// name.
type SendRequest struct {
	As, To, Text, ClientMsgID string
	ReceiptRequested          bool
	Principal                 string // "admin:<user>"
}

// SendResult is the proof of acceptance.
type SendResult struct {
	Seq    uint64     `json:"seq"`
	MsgID  uint64     `json:"msg_id"`
	TimeUS int64      `json:"time_us"`
	Dest   wire.HubID `json:"dest,omitempty"`
	// NobodyOnline says that the chat is for this hub, is not for everybody, and matched nobody online when it was accepted.
	NobodyOnline bool `json:"nobody_online,omitempty"`
}

// Send accepts a chat like one from an agent and returns after its sync.
func (h *Hub) Send(ctx context.Context, r SendRequest) (SendResult, error) {
	if bad := wire.ValidLocalName(r.As); bad != nil {
		return SendResult{}, &Error{Reason: bad.Reason, Text: bad.Text}
	}
	chat, err := r.chat(h.opts.Limits.FrameBytes)
	if err != nil {
		return SendResult{}, err
	}
	told := make(chan accepted, 1)
	reply := make(chan error, 1)
	cmd := &chatCommand{
		sender: r.As, principal: r.Principal, chat: chat, target: wire.CompileTarget(chat.Target),
		told: func(a accepted) { told <- a; reply <- nil },
	}
	if err := h.in.push(ctx, h.operators, cmd); err != nil {
		return SendResult{}, err
	}
	if err := h.await(ctx, reply); err != nil {
		return SendResult{}, err
	}
	a := <-told
	if a.refused != "" {
		return SendResult{}, &Error{Reason: a.refused, Text: a.text}
	}
	return SendResult{Seq: a.seq, MsgID: a.msgID, TimeUS: a.timeUS, Dest: a.dest, NobodyOnline: a.nobody}, nil
}

// chat builds the frame an agent would have sent and reads it like one, so that
// an operator is under the same rules.
func (r SendRequest) chat(frameBytes int) (wire.Chat, error) {
	if strings.TrimSpace(r.To) == "" { // to an agent a blank target is everybody; an operator says `all`
		return wire.Chat{}, &Error{Reason: wire.ReasonInvalidAddress, Text: "the address is empty; everybody is `all`"}
	}
	b := append([]byte(nil), `{"sender":`...)
	b = wire.AppendString(b, r.As)
	b = wire.AppendString(append(b, `,"target":`...), r.To)
	b = wire.AppendString(append(b, `,"payload":`...), r.Text)
	if r.ClientMsgID != "" {
		b = wire.AppendString(append(b, `,"client_msg_id":`...), r.ClientMsgID)
	}
	if r.ReceiptRequested {
		b = append(b, `,"receipt_requested":true`...)
	}
	in, bad := wire.ParseInbound(append(b, '}'), wire.Limits{MaxBytes: frameBytes})
	if bad == nil {
		var chat wire.Chat
		if chat, bad = in.Chat(); bad == nil {
			return chat, r.checkID(&chat)
		}
	}
	return wire.Chat{}, &Error{Reason: bad.Reason, Text: bad.Text}
}

// checkID refuses an id that an agent's frame would have lost in silence.
func (r SendRequest) checkID(chat *wire.Chat) error {
	if r.ClientMsgID != "" && chat.ClientMsgID == "" {
		return &Error{Reason: wire.ReasonMalformedFrame, Text: "a client message id has 1 to 256 bytes and no control characters"}
	}
	return nil
}

// PurgeBody deletes the body of one event, leaving an audited tombstone; the
// chain still verifies. Bodies still owed to a peer are refused.
func (h *Hub) PurgeBody(ctx context.Context, seq uint64, by, reason string) error {
	return h.operate(ctx, func(v *view, d *draft) error {
		ev, ok, err := v.store.Event(seq)
		if err != nil {
			return err
		}
		if !ok {
			return &Error{Reason: wire.ReasonNoSuchEvent, Text: fmt.Sprintf("the journal ends before event %d", seq)}
		}
		if !ev.HasBody || ev.Kind == journal.KindSnapshotTaken {
			return &Error{Reason: wire.ReasonNoBody, Text: fmt.Sprintf("event %d has no body to purge", seq), Next: fmt.Sprintf("fleet journal inspect %d", seq)}
		}
		purged, err := v.isPurged(seq)
		if err != nil {
			return err
		}
		if purged {
			return &Error{Reason: wire.ReasonNoBody, Text: fmt.Sprintf("the body of event %d was purged before, and nothing is left to do", seq), Next: fmt.Sprintf("fleet journal inspect %d --body", seq)}
		}
		if chat, ok := v.chat(seq); ok && chat.Dest != "" && chat.LaneSeq > v.st.laneOf(wire.HubID(chat.Dest)).acked {
			return &Error{Reason: wire.ReasonRelayPending, Text: fmt.Sprintf("event %d is still owed to %s", seq, chat.Dest), Next: "fleet peer show " + chat.Dest}
		}
		d.add(v.now, journal.BodyPurged{Seq: seq, Digest: ev.Digest, By: by, Reason: reason})
		return nil
	})
}

// WatchEvent is one chat that a watched seat got or gave.
type WatchEvent struct {
	Sent  bool   // the seat is its sender
	Frame []byte // the agent frame
}

// watchDepth bounds what one watcher may be behind.
const watchDepth = 256

// watcher is a tap on one seat. It belongs to the core.
type watcher struct {
	seat   string
	events chan WatchEvent
}

// Watch shows what a seat gets and gives from now on, until ctx or the
// hub ends; then the channel is closed. A reader that is more than watchDepth
// events behind misses some. It registers no session.
func (h *Hub) Watch(ctx context.Context, seat string) (<-chan WatchEvent, error) {
	if !h.track() {
		return nil, errStopped
	}
	w := &watcher{seat: seat, events: make(chan WatchEvent, watchDepth)}
	err := h.operate(ctx, func(_ *view, d *draft) error {
		d.alter(watching{w: w, on: true})
		return nil
	})
	if err != nil {
		h.unwatch(w) // it may have begun after the caller gave up
		h.wg.Done()
		return nil, err
	}
	out := make(chan WatchEvent)
	go func() { defer h.wg.Done(); h.pumpWatch(ctx, w, out) }()
	return out, nil
}

// unwatch takes a watcher off the core's list. Nobody waits for it: a hub whose
// journal has failed would never answer.
func (h *Hub) unwatch(w *watcher) {
	off := func(_ *view, d *draft) error {
		d.alter(watching{w: w})
		return nil
	}
	// It fails only once the core has stopped.
	_ = h.in.push(context.Background(), h.operators, &operatorCommand{run: off, reply: make(chan error, 1)})
}

func (h *Hub) pumpWatch(ctx context.Context, w *watcher, out chan<- WatchEvent) {
	defer close(out)
	defer h.unwatch(w)
	for {
		select {
		case e, ok := <-w.events:
			if !ok {
				return
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return
			case <-h.closing:
				return
			}
		case <-ctx.Done():
			return
		case <-h.closing:
			return
		}
	}
}

type watching struct {
	w  *watcher
	on bool
}

func (c watching) change(r *roster) {
	if c.on {
		r.watchers = append(r.watchers[:len(r.watchers):len(r.watchers)], c.w)
		return
	}
	r.watchers = without(r.watchers, c.w)
}

// watched shows a chat to whoever watches its sender or an addressee.
func (d *draft) watched(v *view, f *wire.ChatFrame, item socket.Item) {
	if len(v.ro.watchers) == 0 {
		return
	}
	target := wire.CompileTarget(f.Target)
	for _, w := range v.ro.watchers {
		sent := w.seat == f.Sender
		if sent || (target.Directed() && target.Matches(w.seat, nil)) {
			d.then(func() { w.show(WatchEvent{Sent: sent}, item) })
		}
	}
}

// tellSender tells the sender of a chat what became of it, and whoever watches that
// seat: an operator sends in its name without a socket.
func (d *draft) tellSender(v *view, name string, s *session, it socket.Item) {
	if it == nil {
		return
	}
	d.tell(s, it)
	for _, w := range v.ro.watchers {
		if w.seat == name {
			d.then(func() { w.show(WatchEvent{}, it) })
		}
	}
}

// show drops the event when the watcher is behind: watching is a view, not a
// delivery.
func (w *watcher) show(e WatchEvent, item socket.Item) {
	item.Frames(func(b []byte) bool {
		e.Frame = b
		select {
		case w.events <- e:
		default:
		}
		return true
	})
}
