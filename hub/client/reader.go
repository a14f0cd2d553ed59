package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// reader takes messages until the connection or the client ends.
func (c *Client) reader(l *link, bound func()) Closed {
	var buf []byte
	for c.ctx.Err() == nil {
		msg, err := l.read(buf[:0])
		if err != nil {
			return l.endOf(err)
		}
		if buf = msg; cap(buf) > 2*flushBytes {
			buf = nil
		}
		l.busy.Store(true)
		if c.opts.OnRaw == nil || !c.opts.OnRaw(msg) {
			c.take(l, parse(bytes.Clone(msg), wire.Limits{MaxBytes: int(c.opts.ReadLimit)}))
		}
		l.busy.Store(false)
		if l.bound {
			bound()
		}
		if err := c.await(l.ctx, func() bool { return len(l.control) < maxControl }); err != nil {
			return l.endOf(err)
		}
	}
	return Closed{}
}

func (l *link) read(b []byte) ([]byte, error) {
	_, r, err := l.ws.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	for {
		if len(b) == cap(b) {
			b = append(b, make([]byte, max(4096, len(b)))...)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// endOf explains the end of reading.
func (l *link) endOf(err error) Closed {
	var ce websocket.CloseError
	switch {
	case errors.As(err, &ce):
		return closedBy(int(ce.Code), ce.Reason)
	case l.lost.Load():
		return Closed{Reason: wire.ReasonPingTimeout, Err: err}
	case errors.Is(err, websocket.ErrMessageTooBig):
		return Closed{Reason: wire.ReasonMessageTooLarge, Err: err}
	}
	return Closed{Reason: wire.ReasonConnectionLost, Err: err}
}

// closedBy reads a close frame. Clients tell the codes that are shared apart by the text.
func closedBy(code int, text string) Closed {
	return Closed{Code: code, Text: text, Reason: reasonOf(code, text), Yield: yields(code, text)}
}

// reasonOf finds the word for a close frame, public hubs' included. Below 4000 the text is free.
func reasonOf(code int, text string) wire.Reason {
	switch text {
	case "name owned":
		return wire.ReasonNameOwned
	case "identity binding failed", "identity pin mismatch":
		return wire.ReasonIdentityRefused
	}
	found, best := wire.ReasonConnectionLost, 0
	for _, r := range wire.Reasons() {
		cl, ok := wire.CloseOf(r.Word)
		if !ok || cl.Code != code {
			continue
		}
		match := 0
		switch {
		case strings.ReplaceAll(string(r.Word), "_", " ") == text:
			match = 3 // several reasons may share a text; the one that has it as its name goes first
		case cl.Text == text:
			match = 2
		case code < 4000:
			match = 1
		}
		if match > best {
			found, best = r.Word, match
		}
	}
	return found
}

// yields tells whether reconnecting would be wrong or in vain.
func yields(code int, text string) bool {
	if code < 4000 {
		return false
	}
	switch text {
	case "superseded", "takeover cooldown", "takeover quarantine", "name owned", "auth denied", "reserved identity",
		"identity binding failed", "identity pin mismatch":
		return true
	}
	return false
}

// emit tells an event, first to the recorder.
func (c *Client) emit(ev Event) {
	if c.opts.Recorder != nil {
		c.opts.Recorder.OnEvent(ev)
	}
	if c.opts.OnEvent != nil {
		c.opts.OnEvent(ev)
	}
}

// take handles one message of the hub.
func (c *Client) take(l *link, ev Event) {
	switch ev := ev.(type) {
	case Chat:
		c.takeChat(l, ev)
	case Welcome:
		c.takeWelcome(l, ev)
	case Presence:
		l.bound = l.bound || ev.Event == wire.PresenceJoined && ev.Agent == c.opts.Name
		c.emit(ev)
	case Receipt:
		c.takeReceipt(ev)
	case ErrorFrame:
		c.emit(ev)
		c.resolve(func() { c.box.refuse(ev.ClientMsgID, &RefusedError{ev.Code, ev.Text}) })
	case WhoSnapshot:
		l.bound = true
		c.emit(ev)
		c.answer(wire.TypeWhoSnapshot, ev)
	case StateSnapshot:
		c.emit(ev)
		c.answer(wire.TypeStateSnapshot, ev)
	default:
		c.emit(ev)
	}
}

// takeWelcome learns which hub this is, registers if that was not possible before, and repeats acknowledgements.
func (c *Client) takeWelcome(l *link, w Welcome) {
	l.protocol = w.Protocol
	c.emit(w)
	c.mu.Lock()
	defer c.mu.Unlock()
	other := c.cursor.HubID != "" && c.cursor.HubID != w.HubID
	if other { // positions of another sequence
		c.cursor.Seq = 0
		c.acks = nil
	}
	c.cursor.HubID = w.HubID
	if l.ready && other && c.opts.Mailbox {
		l.controlLocked(c.opts.replay(0, c.now()))
	}
	c.registerLocked(l)
	if l.protocol >= 2 {
		for _, seq := range c.acks {
			l.controlLocked(c.opts.ack(seq, c.now()))
		}
	}
	c.kick()
}

func (c *Client) takeReceipt(r Receipt) {
	if r.NotificationID != "" && !c.receipts.add(r.NotificationID) {
		c.duplicate()
		return
	}
	c.emit(r)
	c.resolve(func() {
		c.box.accept(r.ClientMsgID, Accepted{
			ClientMsgID: r.ClientMsgID, Target: r.MessageTarget, HubID: r.HubID, Seq: r.MessageSeq, MsgID: r.MessageID, TimeUS: r.TimeUS,
		})
	})
}

func (c *Client) takeChat(l *link, ch Chat) {
	fresh := ch.Seq == 0 || c.seqs.add(seqKey{ch.HubID, ch.Seq, idKey{ch.Sender, ch.ClientMsgID}})
	if ch.Sender == c.opts.Name {
		c.takeOwn(ch, fresh)
		return
	}
	if ch.ClientMsgID != "" && !c.chats.add(idKey{ch.Sender, ch.ClientMsgID}) {
		fresh = false
	}
	ch.Directed, ch.Addressed = c.target.of(&ch, &c.opts)
	if fresh {
		c.emit(ch)
	} else {
		c.duplicate()
	}
	if c.ctx.Err() != nil {
		return // stopped while it was being taken
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opts.Mailbox && !c.opts.ManualAck && ch.Directed && ch.Addressed && ch.Seq > 0 && l.protocol >= 2 {
		c.ackLocked(ch.Seq)
	}
	c.advanceLocked(ch)
}

// takeOwn takes our own copy of a chat: what we sent is accepted.
func (c *Client) takeOwn(ch Chat, fresh bool) {
	if !fresh {
		c.duplicate()
		return
	}
	a := Accepted{ClientMsgID: ch.ClientMsgID, Target: ch.Target, HubID: ch.HubID, Seq: ch.Seq, MsgID: ch.MsgID, TimeUS: ch.TimeUS}
	c.emit(a)
	c.resolve(func() {
		if a.Seq == 0 {
			c.box.refuse(a.ClientMsgID, ErrNoJournal)
		}
		c.box.accept(a.ClientMsgID, a)
		c.advanceLocked(ch)
	})
}

// advanceLocked moves the cursor to a chat that was taken.
func (c *Client) advanceLocked(ch Chat) {
	if ch.HubID == c.cursor.HubID && ch.Seq > c.cursor.Seq {
		c.cursor.Seq = ch.Seq
	}
}

// ackLocked acknowledges seq now, if a connection is up, and again on the next ones.
func (c *Client) ackLocked(seq uint64) {
	if len(c.acks) == ackMemory {
		c.acks = c.acks[:copy(c.acks, c.acks[ackMemory/4:])]
	}
	c.acks = append(c.acks, seq)
	if c.link != nil && c.link.ready {
		c.link.controlLocked(c.opts.ack(seq, c.now()))
		c.kick()
	}
}

func (c *Client) resolve(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.movedLocked()
}

func (c *Client) duplicate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Duplicates++
}

// answer hands a snapshot to the oldest request for one; the hub answers in order.
func (c *Client) answer(t wire.FrameType, ev Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting := c.asks[t]; len(waiting) > 0 {
		waiting[0] <- ev
		c.asks[t] = waiting[1:]
	}
}

// lastTarget remembers what a target means to us: traffic often has one.
type lastTarget struct {
	text                string
	known               bool
	directed, addressed bool
}

func (t *lastTarget) of(ch *Chat, o *Options) (directed, addressed bool) {
	if !t.known || t.text != ch.Target {
		compiled := wire.CompileTarget(ch.Target)
		name := o.Name
		if o.MailboxFor != "" {
			name = o.MailboxFor
		}
		*t = lastTarget{text: ch.Target, known: true, directed: compiled.Directed()}
		t.addressed = compiled.Everybody() || compiled.Matches(name, o.Roles)
	}
	return t.directed, t.addressed
}
