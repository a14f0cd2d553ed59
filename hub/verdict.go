package hub

import (
	"crypto/sha256"
	"slices"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// What this hub says of chats that came over a link goes back as records of its own
// lane, one for all that a turn says to one hub; what another hub says of chats of
// ours comes in as such a record.
//
//	origin                                   receiver
//	  chat, receipt asked ──── lane ──────▶    accepted: verdict
//	  told within 5 s, or what is known        │
//	  told, later, that it was taken    ◀─ lane ┴─ ack by the seat

// verdictPrincipal stands in the origin block of a receipt: the hub itself speaks.
const verdictPrincipal = "hub"

// receipts is how far receipts go across the link to a peer: all the way while no
// profile was agreed on yet.
func (l *lane) receipts() federation.Receipts {
	if l.facts.agreed.Number == 0 {
		return federation.ReceiptsDeferred
	}
	return l.facts.agreed.Profile.Receipts
}

// answers says whether receipts come back from a peer.
func (v *view) answers(peer wire.HubID) bool {
	l := v.st.laneOf(peer)
	return l.receipts() > federation.ReceiptsNone
}

// unanswered is the receipt of a chat to a peer from which none comes: all that will
// be said.
func (c *chatCommand) unanswered(v *view, d *draft, f *wire.ChatFrame, peer wire.HubID, laneSeq uint64) socket.Item {
	rec := journal.ReceiptSettled{
		ChatSeq: f.Seq, MsgID: f.MsgID, Sender: c.sender, Target: c.chat.Target, ClientMsgID: c.chat.ClientMsgID,
		State: journal.ReceiptPending, Reason: string(wire.ReasonProfileGap), RemoteHub: string(peer), About: laneSeq,
	}
	return noteItem(c.from, d.add(v.now, rec), receiptFrame(v.config.self, v.now, rec))
}

// askedAcross decides the verdict on a chat of a peer whose sender asked for a
// receipt. It names the addressed seat only.
func (c *inboundCommand) askedAcross(v *view, d *draft, rec *journal.ChatAccepted, chatSeq uint64, to *seat) {
	peer := c.batch.peer
	r := journal.ReceiptSettled{ // the chat's event says whose it is
		ChatSeq: chatSeq, MsgID: rec.MsgID, State: journal.ReceiptDelivered, About: c.rec.Origin.LaneSeq,
	}
	matched := len(to.sockets()) > 0
	if matched {
		r.Wake = []journal.NameWake{{Name: rec.Target, Wake: to.wake()}}
	}
	if to.live(v.now) {
		r.Recipients = []string{rec.Target}
	} else {
		r.State, r.DeadLettered, r.Reason = journal.ReceiptPending, true, string(wire.ReasonNoOnlineRecipient)
		if matched {
			r.Stale, r.Reason = []string{rec.Target}, string(wire.ReasonNoLiveRecipient)
		}
		if v.pendingOf(peer) >= pendingReceipts {
			v.settle(d, v.oldestPending(peer), journal.ReceiptExpired, nil, wire.ReasonPendingWindowEvicted)
		}
	}
	d.say(peer, r)
}

// verdictsBody is the body of the lane record that verdicts are. It is a function of
// the event, so that it need not be stored: the bytes must never change.
func verdictsBody(r *journal.VerdictsSaid) []byte {
	list := make([]wire.Verdict, len(r.Verdicts))
	for i := range r.Verdicts {
		list[i] = onTheWire(&r.Verdicts[i])
	}
	return wire.AppendVerdicts(make([]byte, 0, 256*len(list)), list)
}

func onTheWire(r *journal.ReceiptSettled) wire.Verdict {
	return wire.Verdict{
		LaneSeq: r.About, State: wire.VerdictState(r.State), HubSeq: r.ChatSeq, HubMsgID: r.MsgID,
		Recipients: r.Recipients, Stale: r.Stale, Wake: wakesOf(r.Wake), Reason: wire.Reason(r.Reason), DeadLettered: r.DeadLettered,
	}
}

func wakesOf(list []journal.NameWake) []wire.NameWake {
	if len(list) == 0 {
		return nil
	}
	out := make([]wire.NameWake, len(list))
	for i, w := range list {
		out[i] = wire.NameWake(w)
	}
	return out
}

// verdictsOrigin is the provenance of verdicts of this hub.
func verdictsOrigin(self wire.HubID, epoch Epoch, timeUS int64, r *journal.VerdictsSaid, digest [32]byte) Origin {
	return Origin{
		Hub: self, Epoch: epoch.Number, EpochID: epoch.ID, LaneSeq: r.LaneSeq, AcceptedUS: timeUS,
		Sender: wire.HubSender, Principal: verdictPrincipal, Target: r.Dest, Digest: digest,
	}
}

// verdictsSaid enters verdicts into the lane to their chats' hub.
func (st *state) verdictsSaid(ev *journal.Event, r *journal.VerdictsSaid, w tables) (*lane, *OutRecord) {
	l := st.lane(wire.HubID(r.Dest))
	body := verdictsBody(r)
	origin := verdictsOrigin(st.hubID, st.epoch, ev.TimeUS, r, sha256.Sum256(body))
	out := &OutRecord{Kind: wire.LaneReceipt, Seq: r.LaneSeq, Origin: origin, Body: body}
	l.grow(ev.Seq, out, uint64(len(body)), w)
	for i := range r.Verdicts {
		l.awaitAck(&r.Verdicts[i])
	}
	return l, out
}

// awaitAck notes whether a receipt waits for the seat's acknowledgement.
func (l *lane) awaitAck(r *journal.ReceiptSettled) {
	if r.State != journal.ReceiptPending || l.receipts() < federation.ReceiptsDeferred {
		l.pending.remove(r.ChatSeq)
		return
	}
	if l.pending == nil {
		l.pending = newReceiptQueue()
	}
	l.pending.push(&pendingReceipt{
		chatSeq: r.ChatSeq, msgID: r.MsgID, sender: r.Sender, target: r.Target, clientMsgID: r.ClientMsgID,
		peer: l.peer, about: r.About,
	})
}

// heardBack takes what a peer says of chats of ours. The cursor of its lane and what
// the senders are told by it are one event.
func (c *inboundCommand) heardBack(v *view, d *draft) {
	o := &c.rec.Origin
	rec := journal.VerdictsHeard{
		Origin: journal.Origin{
			Hub: string(c.batch.peer), Epoch: o.Epoch, EpochID: o.EpochID, LaneSeq: o.LaneSeq, AcceptedUS: o.AcceptedUS,
		},
		LaneHash: c.rec.LaneHash, Verdicts: make([]journal.FarVerdict, len(c.rec.Verdicts)),
	}
	for i := range c.rec.Verdicts {
		c.hear(v, &c.rec.Verdicts[i], &rec.Verdicts[i])
	}
	v.tellHeard(d, d.add(v.now, rec), &rec)
}

// hear fills in what one verdict says, what it is about here, and what its sender is
// told.
func (c *inboundCommand) hear(v *view, said *wire.Verdict, r *journal.FarVerdict) {
	*r = journal.FarVerdict{
		About: said.LaneSeq, State: journal.ReceiptState(said.State), HubSeq: said.HubSeq, HubMsgID: said.HubMsgID,
		Recipients: said.Recipients, Stale: said.Stale, Reason: string(said.Reason), DeadLettered: said.DeadLettered,
	}
	for _, w := range said.Wake {
		r.Wake = append(r.Wake, journal.NameWake(w))
	}
	w := v.st.waits.get(c.batch.peer, said.LaneSeq)
	if past := v.st.laneOf(c.batch.peer).facts.lane; w == nil || past.past(c.rec.Origin.LaneSeq, said.LaneSeq) { // given up before, never asked for, or about another record
		return
	}
	chat := v.waitingChat(w)
	r.ChatSeq, r.MsgID, r.Sender, r.Target = w.chatSeq, chat.MsgID, chat.Sender, chat.Target
	r.ClientMsgID, r.Tells = chat.ClientMsgID, v.config.fault.tells(w.tells(r.State))
}

// tellHeard tells each sender all that the event seq tells it, as one notification.
func (v *view) tellHeard(d *draft, seq uint64, rec *journal.VerdictsHeard) {
	hub := wire.HubID(rec.Origin.Hub)
	bySender := map[string][]appender{}
	var order []string
	for i := range rec.Verdicts {
		r := &rec.Verdicts[i]
		if r.Tells == 0 {
			continue
		}
		if bySender[r.Sender] == nil {
			order = append(order, r.Sender)
		}
		bySender[r.Sender] = append(bySender[r.Sender], remoteReceipt(v.config.self, v.now, hub, r))
	}
	for _, sender := range order {
		to := v.ro.byName(sender)
		d.tellSender(v, sender, to, noteItem(to, seq, bySender[sender]...))
	}
	v.tellOtherwise(d, rec)
}

// tellOtherwise is the planted fault "receipt_twice".
func (v *view) tellOtherwise(d *draft, rec *journal.VerdictsHeard) {
	for _, r := range rec.Verdicts {
		if r.Tells == 0 || !v.config.fault.tellsTwice() {
			continue
		}
		r.Reason = string(wire.ReasonNoLiveRecipient)
		d.tell(v.ro.byName(r.Sender), frameItem(remoteReceipt(v.config.self, v.now, wire.HubID(rec.Origin.Hub), &r)))
	}
}

// toldBy are the frames that tell one sender what an event says.
func toldBy(self wire.HubID, timeUS int64, rec *journal.VerdictsHeard, sender string) (out []appender) {
	for i := range rec.Verdicts {
		if r := &rec.Verdicts[i]; r.Tells != 0 && r.Sender == sender {
			out = append(out, remoteReceipt(self, timeUS, wire.HubID(rec.Origin.Hub), r))
		}
	}
	return out
}

// waitingChat is the chat a wait is for.
func (v *view) waitingChat(w *remoteWait) *journal.ChatAccepted {
	chat, ok := v.chat(w.chatSeq)
	if !ok {
		panic("hub: a receipt is awaited for what is no chat")
	}
	return chat
}

// tells is what the sender is told by a far verdict: the first one is its immediate
// receipt, a later one settles what it was told; 0 is nothing new.
func (w *remoteWait) tells(state journal.ReceiptState) journal.ReceiptState {
	delivered := state == journal.ReceiptDelivered || state == journal.ReceiptDeferred
	switch {
	case !w.told && delivered:
		return journal.ReceiptDelivered
	case !w.told:
		return journal.ReceiptPending
	case delivered:
		return journal.ReceiptDeferred
	case state == journal.ReceiptExpired:
		return journal.ReceiptExpired
	}
	return 0
}

// badVerdict says why a peer's receipt cannot be about the chats it names, "" when it
// can.
func (c *inboundCommand) badVerdict(v *view) wire.Reason {
	head := v.st.laneOf(c.batch.peer).outHead
	for i := range c.rec.Verdicts {
		said := &c.rec.Verdicts[i]
		if said.LaneSeq > head {
			return wire.ReasonMalformedReceipt
		}
		w, seat := v.st.waits.get(c.batch.peer, said.LaneSeq), said.Seat()
		if w == nil || seat == "" {
			continue
		}
		if !isAt(v.waitingChat(w).Target, seat, c.batch.peer) {
			return wire.ReasonMalformedReceipt
		}
	}
	if len(c.rec.Verdicts) == 0 {
		return wire.ReasonMalformedReceipt
	}
	return ""
}

// verdictsHeard folds a peer's receipt into what is awaited. A sender's notification
// is one row, whatever the event tells it.
func (st *state) verdictsHeard(ev *journal.Event, rec *journal.VerdictsHeard, w tables) *lane {
	peer := wire.HubID(rec.Origin.Hub)
	waits := st.lane(peer).receipts() == federation.ReceiptsDeferred
	told := make(map[string]bool, min(len(rec.Verdicts), 64))
	for i := range rec.Verdicts {
		r := &rec.Verdicts[i]
		if r.State == journal.ReceiptPending && waits {
			st.waits.tell(peer, r.About)
		} else {
			st.waits.remove(peer, r.About)
		}
		if r.Tells != 0 && !told[r.Sender] {
			told[r.Sender] = true
			w.Put(journal.NoteKey(r.Sender, ev.Seq), nil)
		}
	}
	return st.laneIn(&rec.Origin, rec.LaneHash)
}

// remoteReceipt is the frame by which a sender is told what another hub says: names
// with that hub.
func remoteReceipt(self wire.HubID, timeUS int64, hub wire.HubID, r *journal.FarVerdict) *wire.Receipt {
	f := &wire.Receipt{
		HubID: self, TimeUS: timeUS, Target: r.Sender, Shape: shapeOf(r.Tells), MessageTarget: r.Target, MessageID: r.MsgID,
		MessageSeq: r.ChatSeq, ClientMsgID: r.ClientMsgID, RemoteHub: hub, Delivered: r.Tells == journal.ReceiptDelivered,
		Recipients: there(r.Recipients, hub, r.Target), Stale: there(r.Stale, hub, r.Target), Reason: wire.Reason(r.Reason), DeadLettered: r.DeadLettered,
		NotificationID: wire.ReceiptNotificationID(r.ChatSeq, r.Tells.String()),
	}
	switch { // read only, so that one list may stand for two
	case len(f.Stale) == 0:
		f.Matched = f.Recipients
	case len(f.Recipients) == 0:
		f.Matched = f.Stale
	default:
		f.Matched = slices.Concat(f.Recipients, f.Stale)
	}
	for _, w := range r.Wake {
		f.Wake = append(f.Wake, wire.NameWake{Name: at(w.Name, hub, r.Target), Wake: w.Wake})
	}
	return f
}

// there is names of another hub as they are written here.
func there(names []string, hub wire.HubID, target string) (out []string) {
	for _, name := range names {
		out = append(out, at(name, hub, target))
	}
	return out
}

// at is a name of another hub as it is written here: mostly the target of the chat.
func at(name string, hub wire.HubID, target string) string {
	if isAt(target, name, hub) {
		return target
	}
	return name + "@" + string(hub)
}

// isAt says whether an address is that of a name on a hub.
func isAt(address, name string, hub wire.HubID) bool {
	return len(address) == len(name)+1+len(hub) && address[len(name)] == '@' && address[:len(name)] == name && address[len(name)+1:] == string(hub)
}

// sayOfRemote tells the sender of a chat to another hub what this hub says of it:
// pending, or expired.
func (v *view) sayOfRemote(d *draft, w *remoteWait, state journal.ReceiptState, reason wire.Reason) {
	chat := v.waitingChat(w)
	rec := journal.ReceiptSettled{
		ChatSeq: w.chatSeq, MsgID: chat.MsgID, Sender: chat.Sender, Target: chat.Target, ClientMsgID: chat.ClientMsgID,
		State: state, Reason: string(reason), RemoteHub: string(w.peer), About: w.laneSeq,
	}
	seq := d.add(v.now, rec)
	to := v.ro.byName(chat.Sender)
	d.tellSender(v, chat.Sender, to, noteItem(to, seq, receiptFrame(v.config.self, v.now, rec)))
}

// endRemote ends what a sender waits for: with its immediate receipt, or with the end
// of what that one left open.
func (v *view) endRemote(d *draft, peer wire.HubID, laneSeq uint64, reason wire.Reason) {
	w := v.st.waits.get(peer, laneSeq)
	if w == nil {
		return
	}
	state := journal.ReceiptPending
	if w.told {
		state = journal.ReceiptExpired
	}
	v.sayOfRemote(d, w, state, reason)
}

// awaitRemote makes room for one more wait: the oldest is given up when there are as
// many as may.
func (v *view) awaitRemote(d *draft) {
	if v.st.waits.len() >= remoteWaits {
		v.sayOfRemote(d, v.st.waits.oldest(), journal.ReceiptExpired, wire.ReasonPendingWindowEvicted)
	}
}

// settledHere folds what this hub says of a chat to another one into what is awaited.
func (st *state) settledHere(r *journal.ReceiptSettled) {
	if r.State == journal.ReceiptPending {
		st.waits.tell(wire.HubID(r.RemoteHub), r.About)
	} else {
		st.waits.remove(wire.HubID(r.RemoteHub), r.About)
	}
}

// dueAtOnce bounds what one turn does because of the time alone.
const dueAtOnce = 256

// due tells the senders that have waited long enough for another hub what this one
// knows. more says that there may be more of them.
func (v *view) due(d *draft) (more bool) {
	list := v.st.waits.due(v.now, dueAtOnce)
	for _, w := range list {
		v.sayOfRemote(d, w, journal.ReceiptPending, v.knownOf(w))
	}
	return len(list) == dueAtOnce
}

// knownOf is what this hub can say of a record that the far hub has said nothing of.
func (v *view) knownOf(w *remoteWait) wire.Reason {
	l := v.st.laneOf(w.peer)
	switch {
	case w.laneSeq <= l.acked:
		return wire.ReasonRelayAdmitted
	case w.laneSeq <= l.mark():
		return wire.ReasonRelayUnconfirmed
	}
	return wire.ReasonRelayPending
}

// dueCommand goes on with what a tick had to leave.
type dueCommand struct {
	small
	again func()
}

func (c dueCommand) decide(v *view, d *draft) {
	if v.due(d) {
		d.then(c.again)
	}
}
