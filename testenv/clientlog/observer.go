package clientlog

import (
	"errors"
	"sync"
	"time"

	"fleetrelay/hub/client"
	"fleetrelay/hub/wire"
)

// Observer writes down what one application does and is told through hub/client, over all its connections and clients.
// Attach it to each client it uses, one after the other.
//
// hub/client remembers for its own life only. An application that comes back with a new client remembers itself what it
// took before: a chat it had in an earlier life is not handed to it again and is not noted as received.
type Observer struct {
	w        *Writer
	who, hub string
	roles    []string

	mu       sync.Mutex
	has, old map[chatID]bool // taken in this life, in earlier ones
	err      error
}

type chatID struct{ sender, id string }

// maxFrame bounds what the observer parses: the largest frame an agent may send, and what hubs add.
const maxFrame = wire.DefaultMaxBytes + 64<<10

// Observe makes the observer of the application who on the hub.
func Observe(w *Writer, who, hub string, roles ...string) *Observer {
	return &Observer{w: w, who: who, hub: hub, roles: roles, has: map[chatID]bool{}, old: map[chatID]bool{}}
}

// Attach sets the options' Recorder, OnRaw and OnEvent. take is the application: it gets each chat addressed to it that it
// does not have yet, after that was noted. other, if not nil, gets every other event.
func (o *Observer) Attach(opts *client.Options, take func(client.Chat), other func(client.Event)) {
	o.mu.Lock()
	for id := range o.has {
		o.old[id] = true
	}
	clear(o.has)
	o.mu.Unlock()
	opts.Recorder, opts.OnRaw = o, o.onRaw
	opts.OnEvent = func(ev client.Event) {
		chat, ok := ev.(client.Chat)
		switch {
		case ok && chat.Addressed:
			if o.take(&chat) {
				take(chat)
			}
		case other != nil:
			other(ev)
		}
	}
}

// Err is the first failure to write: evidence is missing and the run means nothing.
func (o *Observer) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// OnSent notes a chat before it leaves.
func (o *Observer) OnSent(frame []byte) {
	f, err := wire.ParseObject(frame, wire.Limits{MaxBytes: maxFrame})
	if err != nil || text(f, "type") != string(wire.TypeChat) {
		return
	}
	o.note(Entry{Kind: Sent, To: text(f, "target"), ClientMsgID: text(f, "client_msg_id"), Digest: payloadDigest(f), Asked: flag(f, "receipt_requested")})
}

// OnEvent notes what the client tells, except chats: take notes those.
func (o *Observer) OnEvent(ev client.Event) {
	switch ev := ev.(type) {
	case client.Welcome:
		o.note(Entry{Kind: Joined, Roles: o.roles})
	case client.ErrorFrame:
		if ev.ClientMsgID != "" {
			o.note(Entry{Kind: Refused, ClientMsgID: ev.ClientMsgID, Reason: string(ev.Code)})
		}
	}
}

// onRaw notes what the client's events leave out: own copies with their payload, and receipts that it was told before.
func (o *Observer) onRaw(message []byte) bool {
	f, err := wire.ParseObject(message, wire.Limits{MaxBytes: maxFrame})
	if err != nil {
		return false
	}
	switch text(f, "type") {
	case string(wire.TypeDeliveryReceipt):
		o.note(receiptEntry(f))
	case string(wire.TypeChat):
		if text(f, "sender") == o.who {
			o.note(Entry{
				Kind: Accepted, To: text(f, "target"), ClientMsgID: text(f, "client_msg_id"), Digest: payloadDigest(f),
				Seq: number(f, "seq"), MsgID: number(f, "msg_id"),
			})
		}
	}
	return false
}

func receiptEntry(f wire.Object) Entry {
	e := Entry{
		Kind: Receipt, ClientMsgID: text(f, "client_msg_id"), Seq: number(f, "message_seq"), MsgID: number(f, "message_id"),
		Reason: text(f, "reason"), NotificationID: text(f, "receipt_notification_id"), Delivered: flag(f, "delivered"),
		Deferred: flag(f, "deferred"), Expired: flag(f, "expired"), RemoteHub: text(f, "remote_hub"),
	}
	if v, ok := f.Get("recipients"); ok && wire.Unmarshal(v, &e.Recipients) != nil {
		e.Recipients = []string{string(v)} // whatever it is, it is what was told
	}
	return e
}

// take notes a chat unless the application has it from an earlier life.
func (o *Observer) take(c *client.Chat) bool {
	if c.ClientMsgID != "" {
		id := chatID{c.Sender, c.ClientMsgID}
		o.mu.Lock()
		known := o.old[id]
		o.has[id] = true
		o.mu.Unlock()
		if known {
			return false
		}
	}
	o.note(Entry{
		Kind: Received, To: c.Target, Sender: c.Sender, ClientMsgID: c.ClientMsgID, Digest: digestOf(c.Payload),
		Seq: c.Seq, MsgID: c.MsgID, Replayed: c.Replayed,
	})
	return true
}

func (o *Observer) note(e Entry) {
	e.Who, e.Hub, e.TimeUS = o.who, o.hub, time.Now().UnixMicro()
	if err := o.w.Write(e); err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = errors.Join(o.err, err)
	}
}

func text(f wire.Object, name string) string {
	v, _ := f.Get(name)
	s, _ := v.Text()
	return s
}

func flag(f wire.Object, name string) bool {
	v, _ := f.Get(name)
	set, _ := v.Bool()
	return set
}

func number(f wire.Object, name string) uint64 {
	v, _ := f.Get(name)
	if n, ok := v.Int(); ok && n > 0 {
		return uint64(n)
	}
	return 0
}

func payloadDigest(f wire.Object) string {
	v, _ := f.Get("payload")
	return digestOf(v)
}

// digestOf is Digest of a raw JSON payload.
func digestOf(payload wire.Raw) string {
	if s, ok := payload.Text(); ok {
		return Digest([]byte(s))
	}
	return Digest(payload)
}
