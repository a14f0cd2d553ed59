package hub

import (
	"fleetrelay/hub/journal"
	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// receipt decides the immediate verdict of a chat (core-wire-v2 section 8). For
// a directed chat the verdict is journalled and its notification is kept until a
// socket took it; for others it is told once. It returns what to tell the sender
// now, or nil. Dead letters are counted whether a receipt was asked for or not.
func (c *chatCommand) receipt(v *view, d *draft, frame *wire.ChatFrame, a *audience) socket.Item {
	directed := c.target.Directed()
	dead := directed && len(a.live) == 0
	if dead {
		d.alter(deadLettered{target: c.chat.Target, sender: c.sender, now: v.now})
	}
	if !c.chat.ReceiptRequested {
		return nil
	}
	if !directed {
		return frameItem(&crowdReceipt{
			self: v.config.self, now: v.now, bound: v.ro.everybody(), target: &c.target, verdict: verdict{
				chatSeq: frame.Seq, msgID: frame.MsgID, sender: c.sender, target: c.chat.Target,
				clientMsgID: c.chat.ClientMsgID,
			},
		})
	}
	state := journal.ReceiptDelivered
	if dead {
		state = journal.ReceiptPending
		c.evict(v, d)
	}
	rec := verdict{
		chatSeq: frame.Seq, msgID: frame.MsgID, sender: c.sender, target: c.chat.Target,
		clientMsgID: c.chat.ClientMsgID, audience: a.bounded(), reason: a.reason(), dead: dead,
	}.record(state)
	return noteItem(c.from, d.add(v.now, rec), receiptFrame(v.config.self, v.now, rec))
}

// evict pushes the oldest pending receipt out when the window is full; its
// sender is told.
func (c *chatCommand) evict(v *view, d *draft) {
	if v.st.pending.len() < pendingReceipts {
		return
	}
	v.settle(d, v.st.pending.oldest(), journal.ReceiptExpired, nil, wire.ReasonPendingWindowEvicted)
}

// settle ends a pending receipt and notifies its sender.
func (v *view) settle(d *draft, p *pendingReceipt, state journal.ReceiptState, recipients []string, reason wire.Reason) {
	rec := journal.ReceiptSettled{
		ChatSeq: p.chatSeq, MsgID: p.msgID, Sender: p.sender, Target: p.target, ClientMsgID: p.clientMsgID,
		State: state, Recipients: recipients, Reason: string(reason), About: p.about,
	}
	if p.peer != "" {
		d.say(p.peer, rec)
		return
	}
	seq := d.add(v.now, rec)
	to := v.ro.byName(p.sender)
	d.tellSender(v, p.sender, to, noteItem(to, seq, receiptFrame(v.config.self, v.now, rec)))
}

// verdict gathers what an immediate receipt states.
type verdict struct {
	chatSeq, msgID              uint64
	sender, target, clientMsgID string
	audience                    *audience
	reason                      wire.Reason
	dead                        bool
}

func (vd verdict) record(state journal.ReceiptState) journal.ReceiptSettled {
	rec := journal.ReceiptSettled{
		ChatSeq: vd.chatSeq, MsgID: vd.msgID, Sender: vd.sender, Target: vd.target, ClientMsgID: vd.clientMsgID,
		State: state, Recipients: vd.audience.live, Matched: vd.audience.matched, Stale: vd.audience.stale,
		Reason: string(vd.reason), DeadLettered: vd.dead,
	}
	for _, w := range vd.audience.wake {
		rec.Wake = append(rec.Wake, journal.NameWake(w))
	}
	return rec
}

// crowdReceipt is the receipt of a chat that is not directed. Nothing of it is
// journalled, so the socket's writer looks who was there, and not the core.
type crowdReceipt struct {
	self    wire.HubID
	now     int64
	bound   []*session
	target  *wire.Target
	verdict verdict
}

// Append builds the frame.
func (c *crowdReceipt) Append(dst []byte) []byte {
	r := seatsOf(c.bound)
	a := r.audienceOf(c.verdict.sender, c.target, c.now)
	c.verdict.audience, c.verdict.reason = a.bounded(), a.reason()
	return receiptFrame(c.self, c.now, c.verdict.record(0)).Append(dst)
}

// receiptFrame builds the frame of a settled receipt; the same record gives the
// same frame whenever it is sent again.
func receiptFrame(self wire.HubID, timeUS int64, r journal.ReceiptSettled) *wire.Receipt {
	f := &wire.Receipt{
		HubID: self, TimeUS: timeUS, Target: r.Sender, Shape: shapeOf(r.State), MessageTarget: r.Target,
		MessageID: r.MsgID, MessageSeq: r.ChatSeq, ClientMsgID: r.ClientMsgID, Delivered: len(r.Recipients) > 0,
		Recipients: r.Recipients, Matched: r.Matched, Stale: r.Stale,
		Reason: wire.Reason(r.Reason), DeadLettered: r.DeadLettered, RemoteHub: wire.HubID(r.RemoteHub),
	}
	for _, w := range r.Wake {
		f.Wake = append(f.Wake, wire.NameWake(w))
	}
	if r.State != 0 {
		f.NotificationID = wire.ReceiptNotificationID(r.ChatSeq, r.State.String())
	}
	return f
}

func shapeOf(state journal.ReceiptState) wire.ReceiptShape {
	switch state {
	case journal.ReceiptDeferred:
		return wire.ReceiptDeferred
	case journal.ReceiptExpired:
		return wire.ReceiptExpired
	}
	return wire.ReceiptImmediate
}

// refusalFrame is the private error for a chat that the far hub did not admit.
func refusalFrame(self wire.HubID, timeUS int64, r journal.RemoteRefused) *wire.ErrorFrame {
	return &wire.ErrorFrame{
		HubID: self, TimeUS: timeUS, Target: r.Sender, Code: wire.Reason(r.Reason),
		Text:        "The hub " + r.Peer + " did not admit this message.",
		ClientMsgID: r.ClientMsgID, ClientTimestamp: r.ClientTimestamp,
	}
}

// notesSettled says which notifications a socket took.
type notesSettled struct{ s *session }

func (*notesSettled) size() int  { return 64 }
func (*notesSettled) moot() bool { return false }
func (c *notesSettled) evidence() evidence {
	return evidence{source: c.s.name, command: "notes_settled"}
}

// quarantined lets the rows be: they are sent again at the next registration.
func (c *notesSettled) quarantined(_ *view, d *draft) {
	d.alter(notesForgotten{s: c.s, n: len(c.s.taken())})
}

// decide settles nothing for a session that has ended: what it last took may never have been read.
func (c *notesSettled) decide(v *view, d *draft) {
	seqs := c.s.taken()
	if len(seqs) > 0 && !c.s.ended {
		d.add(v.now, journal.NotificationsSettled{Sender: c.s.name, Seqs: seqs})
	}
	d.alter(notesForgotten{s: c.s, n: len(seqs)})
}

// notesForgotten drops what was settled from a session's list.
type notesForgotten struct {
	s *session
	n int
}

func (c notesForgotten) change(*roster) { c.s.forget(c.n) }

type deadLettered struct {
	target, sender string
	now            int64
}

func (c deadLettered) change(r *roster) { r.countDead(c.target, c.sender, c.now) }
