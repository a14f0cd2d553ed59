package hub

import (
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// scopeRecipient is the response_evidence_scope of an answer that speaks as an
// addressee of the chat it answers.
const scopeRecipient = "recipient"

// frameRoom is what the hub's own members add to a chat: with them a frame must
// stay below what agents accept, or every replay would end their sockets.
const frameRoom = 512

// chatCommand is one chat from an agent or an operator.
type chatCommand struct {
	from      *session // nil when the sender binds no socket here
	sender    string   // the bound name: what the frame claims has no weight
	principal string
	chat      wire.Chat
	target    wire.Target
	told      func(accepted) // optional: after the sync, or on refusal
}

// accepted is what the sender of a chat may be told.
type accepted struct {
	seq, msgID uint64
	timeUS     int64
	dest       wire.HubID
	nobody     bool // a directed chat that matched nobody online here
	refused    wire.Reason
	text       string
}

// moot drops what a socket that was told to go has sent meanwhile: nothing of it
// was accepted, so its agent will send it again.
func (c *chatCommand) moot() bool { return c.from != nil && c.from.ended }

func (c *chatCommand) size() int { return len(c.chat.Body) + len(c.chat.Target) }

func (c *chatCommand) evidence() evidence {
	return evidence{source: c.principal + " " + c.sender, command: string(wire.TypeChat), raw: c.chat.Body}
}

func (c *chatCommand) quarantined(v *view, d *draft) {
	c.refuse(v, d, wire.ReasonQuarantined, "This message could not be processed and was set aside for the operator.")
}

// decide routes a chat: refused, into a peer's lane, or to this hub's agents.
func (c *chatCommand) decide(v *view, d *draft) {
	v.config.fault.explode(c.chat.Body)
	d.heard(c.from, v.now, true)
	if len(c.chat.Body)+quoted(c.sender)+quoted(c.chat.Target)+frameRoom > v.config.frameBytes {
		c.refuse(v, d, wire.ReasonMessageTooLarge, "This message would be larger than agents accept once the hub has stamped it.")
		return
	}
	if text := c.badAnswer(v); text != "" {
		c.refuse(v, d, wire.ReasonInvalidAnswer, text)
		return
	}
	if !c.target.HasRemote() {
		c.local(v, d)
		return
	}
	addr, reason, text := v.route(&c.target)
	switch {
	case reason != "":
		c.refuse(v, d, reason, text)
	case addr.Hub == "":
		here := *c
		here.chat.Target, here.target = addr.Name, wire.CompileTarget(addr.Name)
		here.local(v, d)
	default:
		c.remote(v, d, addr)
	}
}

// quoted is how long a text is as a JSON string.
func quoted(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += 5
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}

// route checks a target that names a hub: exactly one seat of an approved peer,
// or one of this hub, written out.
func (v *view) route(target *wire.Target) (wire.Address, wire.Reason, string) {
	if len(target.Parts()) != 1 {
		return wire.Address{}, wire.ReasonOneTargetOnly,
			"A message to another hub goes to exactly one seat: project/seat@hub."
	}
	addr := target.Remote()[0]
	if addr.Hub == v.config.self {
		return wire.Address{Name: addr.Name}, "", ""
	}
	if addr.Hub == "" {
		return addr, wire.ReasonInvalidAddress,
			"An address on another hub is project/seat@hub, without patterns."
	}
	if ok, why := v.st.trust.AdmitOutbound(addr.Hub, addr); !ok {
		if why == wire.ReasonPeerRevoked {
			return addr, why, "This hub's approval of that hub was revoked."
		}
		return addr, why, "This hub has no approved peer of that name."
	}
	return addr, "", ""
}

// badAnswer checks a structured answer (core-wire-v2 section 6) and returns the
// sentence for its sender when it breaks a rule.
func (c *chatCommand) badAnswer(v *view) string {
	a := c.chat.Answer
	if a == nil {
		return ""
	}
	asked, ok := v.chat(a.ToSeq)
	switch {
	case c.target.HasRemote():
		return "A message of another hub cannot be answered by its number here; that number means nothing there."
	case !ok:
		return "response_to_seq names no message of this hub."
	case c.chat.Target != asked.Sender:
		return "An answer goes to the sender of the message it answers."
	case a.Scope != scopeRecipient:
		return ""
	}
	if !addressed(asked, c.sender, c.roles()) {
		return "Only an addressee of that message may answer it as its recipient."
	}
	return ""
}

func (c *chatCommand) roles() []string {
	if c.from == nil {
		return nil
	}
	return c.from.roles()
}

// refuse tells the sender why nothing was accepted.
func (c *chatCommand) refuse(v *view, d *draft, reason wire.Reason, text string) {
	d.refused(v, reason, "chat refused", c.sender)
	d.tellSender(v, c.sender, c.from, frameItem(&wire.ErrorFrame{
		HubID: v.config.self, TimeUS: v.now, Target: c.sender, Text: text, Code: reason,
		ClientMsgID: c.chat.ClientMsgID, ClientTimestamp: c.chat.ClientTimestamp,
	}))
	if c.told != nil {
		d.then(func() { c.told(accepted{refused: reason, text: text}) })
	}
}

// accept journals the chat and returns its frame. nobody says that it is a directed chat for here that met nobody.
func (c *chatCommand) accept(v *view, d *draft, dest wire.HubID, laneSeq uint64, nobody bool) *wire.ChatFrame {
	msgID := v.st.lastMsg + 1
	seq := d.addBody(v.now, journal.ChatAccepted{
		MsgID: msgID, Sender: c.sender, Target: c.chat.Target, HasTarget: c.chat.HasTarget,
		Principal: c.principal, ClientMsgID: c.chat.ClientMsgID, ClientTimestamp: c.chat.ClientTimestamp,
		ReceiptRequested: c.chat.ReceiptRequested, Dest: string(dest), LaneSeq: laneSeq,
		AwaitsRemote: c.chat.ReceiptRequested && dest != "" && v.answers(dest),
	}, c.chat.Body, c.chat.Digest)
	if c.told != nil {
		told := accepted{seq: seq, msgID: msgID, timeUS: v.now, dest: dest, nobody: nobody} // the view is the core's: an effect reads none of it
		d.then(func() { c.told(told) })
	}
	return &wire.ChatFrame{
		Sender: c.sender, Target: c.chat.Target, HasTarget: c.chat.HasTarget, HubID: v.config.self,
		MsgID: msgID, Seq: seq, TimeUS: v.now, Body: c.chat.Body,
	}
}

// remote accepts a chat for a peer: the outbox entry commits with it. The sender
// has its own copy as the proof of acceptance; nobody else here sees it. A receipt
// follows when the far hub has said what became of the chat, or has not in time.
func (c *chatCommand) remote(v *view, d *draft, addr wire.Address) {
	dest := addr.Hub
	if text := v.st.beyondProfile(dest, len(c.chat.Body)); text != "" {
		c.refuse(v, d, wire.ReasonProfileGap, text)
		return
	}
	if v.outboxFull(dest, len(c.chat.Body)) {
		c.refuse(v, d, wire.ReasonOutboxFull, "Too much waits for that hub already; nothing was stored. Send it again later.")
		return
	}
	if v.config.fault.loses() {
		dest = ""
	}
	var laneSeq uint64
	if dest != "" {
		laneSeq = v.st.laneOf(dest).outHead + 1
	}
	answers := v.answers(addr.Hub)
	if c.chat.ReceiptRequested && answers {
		v.awaitRemote(d)
	}
	frame := c.accept(v, d, dest, laneSeq, false)
	d.deliverOne(v, frame, nil, c.from)
	if c.chat.ReceiptRequested && !answers {
		d.tellSender(v, c.sender, c.from, c.unanswered(v, d, frame, addr.Hub, laneSeq))
	}
}

// local accepts a chat for this hub's agents. In the stale case the receipt goes
// before the fan-out, otherwise after it (section 8).
func (c *chatCommand) local(v *view, d *draft) {
	var a audience
	if c.target.Directed() {
		a = v.ro.audienceOf(c.sender, &c.target, v.now)
	}
	frame := c.accept(v, d, "", 0, c.target.Directed() && len(a.matched) == 0)
	settled := c.receipt(v, d, frame, &a)
	if len(a.live) == 0 && len(a.stale) > 0 {
		d.tellSender(v, c.sender, c.from, settled)
		c.fanOut(v, d, frame, &a)
		c.warn(v, d, frame, &a)
		return
	}
	c.fanOut(v, d, frame, &a)
	c.warn(v, d, frame, &a)
	d.tellSender(v, c.sender, c.from, settled)
}

// fanOut sends the chat to everybody, or in private-directed mode to whom it
// names and to its sender.
func (c *chatCommand) fanOut(v *view, d *draft, frame *wire.ChatFrame, a *audience) {
	if !c.target.Directed() || !v.privateDirected() {
		d.deliver(v, frame, v.ro.everybody(), nil)
		return
	}
	d.deliver(v, frame, a.sockets, c.from)
}

// deliver sends an accepted chat to sessions, and to its sender if that is not
// among them.
func (d *draft) deliver(v *view, frame *wire.ChatFrame, to []*session, sender *session) {
	if v.config.fault == nil {
		d.deliverOne(v, frame, to, sender)
		return
	}
	for _, f := range v.config.fault.onTheWay(frame) {
		d.deliverOne(v, f, to, sender)
	}
}

func (d *draft) deliverOne(v *view, frame *wire.ChatFrame, to []*session, sender *session) {
	item := chatItem(frame)
	d.watched(v, frame, item)
	d.tellAll(to, item)
	d.tell(sender, item)
}

// warn tells the sender of a directed chat about recipients that may not react.
func (c *chatCommand) warn(v *view, d *draft, frame *wire.ChatFrame, a *audience) {
	if !c.target.Directed() || len(a.stale)+len(a.passive) == 0 {
		return
	}
	reason := a.reason()
	delivered := len(a.live) > 0
	a = a.bounded()
	d.tellSender(v, c.sender, c.from, frameItem(&wire.LivenessWarning{
		HubID: v.config.self, TimeUS: v.now, Target: c.sender, MessageTarget: c.chat.Target,
		MessageID: frame.MsgID, Delivered: delivered, DeadLettered: !delivered,
		Reason: reason, Matched: a.matched, Stale: a.stale, Passive: a.passive, Wake: a.wake,
	}))
}

// reason is the receipt's word for a chat that met nobody live.
func (a *audience) reason() wire.Reason {
	switch {
	case len(a.live) > 0:
		return ""
	case len(a.stale) > 0:
		return wire.ReasonNoLiveRecipient
	}
	return wire.ReasonNoOnlineRecipient
}
