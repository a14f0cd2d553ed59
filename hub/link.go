package hub

import (
	"fmt"
	"strings"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// inboundBatch is one page of a peer's lane on its way through the core. Its
// fields belong to the core until the last record's effects are released.
type inboundBatch struct {
	peer   wire.HubID
	result InboundResult
	done   func(InboundResult)
}

// inboundCommand is one record of a peer. Each is decided by itself, so that a
// poisonous one is quarantined alone; the last of a batch answers for all.
type inboundCommand struct {
	batch *inboundBatch
	rec   InRecord
	last  bool
}

func (c *inboundCommand) size() int { return len(c.rec.Body) + 128 }

func (c *inboundCommand) evidence() evidence {
	return evidence{source: "peer:" + string(c.batch.peer), command: string(wire.LinkRecords), raw: c.rec.Body}
}

func (c *inboundCommand) decide(v *view, d *draft) {
	v.config.fault.explode(c.rec.Body)
	fresh, err := c.inOrder(v)
	if err != nil {
		d.alter(batchFailed{batch: c.batch, err: err})
	}
	if fresh {
		if reason := c.refusal(v); reason != "" {
			c.refuse(v, d, reason)
		} else {
			c.take(v, d)
		}
	}
	c.finish(v, d)
}

func (*inboundCommand) moot() bool { return false }

// quarantined passes the cursor over the record, so that the lane goes on.
func (c *inboundCommand) quarantined(v *view, d *draft) {
	if fresh, _ := c.inOrder(v); fresh {
		c.refuse(v, d, wire.ReasonQuarantined)
	}
	c.finish(v, d)
}

// finish releases the answer for the batch after the sync of its last record.
func (c *inboundCommand) finish(v *view, d *draft) {
	if !c.last {
		return
	}
	b, published := c.batch, v.published
	d.then(func() {
		if b.result.Err == nil {
			b.result.Cursor = published.cursor(b.peer)
		}
		b.done(b.result)
	})
}

// batchFailed ends a batch: nothing more of it is taken.
type batchFailed struct {
	batch *inboundBatch
	err   error
}

func (c batchFailed) change(*roster) { c.batch.result.Err = c.err }

// batchRefused adds one refusal to a batch's answer.
type batchRefused struct {
	batch   *inboundBatch
	refusal Refusal
}

func (c batchRefused) change(*roster) {
	c.batch.result.Refused = append(c.batch.result.Refused, c.refusal)
}

// inOrder checks the record against the lane's cursor: duplicates are skipped, a
// gap, another epoch or a revocation ends the batch.
func (c *inboundCommand) inOrder(v *view) (fresh bool, err error) {
	o, in := &c.rec.Origin, v.st.laneOf(c.batch.peer).in
	switch {
	case c.batch.result.Err != nil:
		return false, nil
	case v.revoked(c.batch.peer): // its link is about to end, and what it owes is held there
		return false, &Error{Reason: wire.ReasonPeerRevoked, Text: fmt.Sprintf("%s is revoked", c.batch.peer)}
	case in.Seq > 0 && in.EpochID != o.EpochID:
		return false, &Error{Reason: wire.ReasonRewound, Text: fmt.Sprintf(
			"%s speaks of another epoch of its lane than the one this node holds", c.batch.peer)}
	case o.LaneSeq <= in.Seq:
		return false, nil
	case o.LaneSeq != in.Seq+1:
		return false, &Error{Reason: wire.ReasonLinkProtocol, Text: fmt.Sprintf(
			"record %d of %s does not follow %d", o.LaneSeq, c.batch.peer, in.Seq)}
	}
	return true, nil
}

func (v *view) revoked(hub wire.HubID) bool {
	_, is := v.st.trust.RevokedPeer(hub)
	return is
}

// take admits a record for what it is.
func (c *inboundCommand) take(v *view, d *draft) {
	switch c.rec.Kind {
	case wire.LaneReceipt:
		c.heardBack(v, d)
	case wire.LaneWithdrawn:
		c.passOver(v, d)
	default:
		c.accept(v, d)
	}
}

// refusal decides whether a record may come in: the forwarder's verdict, the
// origin, and what the peer was granted.
func (c *inboundCommand) refusal(v *view) wire.Reason {
	o := &c.rec.Origin
	if c.rec.Refuse != "" {
		return c.rec.Refuse
	}
	if o.Hub != c.batch.peer {
		return wire.ReasonWrongOrigin
	}
	switch c.rec.Kind {
	case wire.LaneReceipt:
		return c.badVerdict(v)
	case wire.LaneWithdrawn:
		return ""
	}
	return c.refusedChat(v)
}

func (c *inboundCommand) refusedChat(v *view) wire.Reason {
	o := &c.rec.Origin
	if strings.Contains(o.Sender, "@") {
		return wire.ReasonWrongOrigin
	}
	if len(c.rec.Body)+quoted(o.Sender)+quoted(o.Target)+frameRoom > v.config.frameBytes {
		return wire.ReasonMessageTooLarge
	}
	if bad := wire.ValidLocalName(o.Sender); bad != nil {
		return bad.Reason // a name that could not register there, or that would not look like what it is here
	}
	addr, err := wire.ParseAddress(o.Target)
	if err != nil || addr.Hub != v.config.self {
		return wire.ReasonInvalidAddress
	}
	if ok, why := v.st.trust.AdmitInbound(c.batch.peer, addr.Name); !ok {
		return why
	}
	if c.rec.ReceiptRequested && v.wayBackFull(c.batch.peer) {
		return wire.ReasonOutboxFull
	}
	return ""
}

func (c *inboundCommand) refuse(v *view, d *draft, reason wire.Reason) {
	d.refused(v, reason, "record of a peer refused", string(c.batch.peer))
	rec := journal.InboundRefused{
		Origin: originOf(&c.rec.Origin, c.batch.peer), Reason: string(reason), LaneHash: c.rec.LaneHash,
	}
	if keepsBody(reason) && len(c.rec.Body) <= refusedBody {
		d.addBody(v.now, rec, c.rec.Body, digestOf(c.rec.Body))
	} else {
		d.add(v.now, rec)
	}
	d.alter(batchRefused{batch: c.batch, refusal: Refusal{Seq: c.rec.Origin.LaneSeq, Reason: reason}})
}

// refusedBody bounds the bytes kept of a record that was not admitted.
const refusedBody = 64 << 10

// keepsBody says whether an operator needs the bytes of a refused record: those of
// a faulty one, and not of one that was only not granted. What a peer may not send
// must not fill the disk.
func keepsBody(reason wire.Reason) bool {
	switch reason {
	case wire.ReasonNotPermitted, wire.ReasonOutboxFull, wire.ReasonInvalidAddress, wire.ReasonMessageTooLarge, wire.ReasonInvalidAnswer:
		return false
	}
	return true
}

// accept takes responsibility for a record: the chat and the lane's cursor are
// one event.
func (c *inboundCommand) accept(v *view, d *draft) {
	o := &c.rec.Origin
	addr, _ := wire.ParseAddress(o.Target) // refusal has parsed it
	origin := originOf(o, c.batch.peer)
	rec := journal.ChatAccepted{
		MsgID: v.st.lastMsg + 1, Sender: o.Sender + "@" + string(o.Hub), Target: addr.Name, HasTarget: true,
		Principal: "peer:" + string(c.batch.peer), ClientMsgID: o.ClientMsgID, Origin: &origin,
		ReceiptRequested: c.rec.ReceiptRequested,
	}
	c.deliver(v, d, rec)
	if v.config.fault.doubles() {
		rec.MsgID++
		c.deliver(v, d, rec)
	}
}

func (c *inboundCommand) deliver(v *view, d *draft, rec journal.ChatAccepted) {
	seq := d.addBody(v.now, rec, c.rec.Body, c.rec.Origin.Digest)
	frame := &wire.ChatFrame{
		Sender: rec.Sender, Target: rec.Target, HasTarget: true, HubID: v.config.self,
		MsgID: rec.MsgID, Seq: seq, TimeUS: v.now, Body: c.rec.Body,
	}
	to := v.ro.seatOf(rec.Target)
	d.deliver(v, frame, to.sockets(), nil)
	if !to.live(v.now) {
		d.alter(deadLettered{target: rec.Target, sender: rec.Sender, now: v.now})
	}
	if l := v.st.laneOf(c.batch.peer); rec.ReceiptRequested && l.receipts() > federation.ReceiptsNone {
		c.askedAcross(v, d, &rec, seq, &to)
	}
}

// originOf is the journal's form of a record's provenance. The lane is the
// peer's whatever the record claims.
func originOf(o *Origin, peer wire.HubID) journal.Origin {
	return journal.Origin{
		Hub: string(peer), Epoch: o.Epoch, EpochID: o.EpochID, LaneSeq: o.LaneSeq, MsgID: o.MsgID,
		AcceptedUS: o.AcceptedUS, Sender: o.Sender, Principal: o.Principal, Target: o.Target,
	}
}

// ackedCommand is a peer's cumulative acknowledgement of our lane.
type ackedCommand struct {
	small
	peer    wire.HubID
	seq     uint64
	refused []Refusal
	done    chan error // capacity 1
}

func (c *ackedCommand) size() int { return 64 + 64*len(c.refused) }

func (c *ackedCommand) quarantined(_ *view, d *draft) {
	d.answer(c.done, &Error{Reason: wire.ReasonQuarantined})
}

func (c *ackedCommand) decide(v *view, d *draft) {
	l := v.st.laneOf(c.peer)
	if l.facts.lane.resumes { // about the epoch before: the lane begins anew at what was acknowledged when an operator said so
		d.quietly(c.done)
		return
	}
	if c.seq > l.outHead {
		d.answer(c.done, &Error{Reason: wire.ReasonRewound, Text: fmt.Sprintf(
			"%s acknowledges record %d of a lane that ends at %d", c.peer, c.seq, l.outHead)})
		return
	}
	for _, r := range c.refused {
		if r.Seq > l.acked && r.Seq <= c.seq {
			c.remoteRefused(v, d, r)
		}
	}
	if c.seq > l.acked {
		row, ok := v.outboxRow(c.peer, c.seq)
		if !ok {
			panic(fmt.Sprintf("hub: no outbox row %d for %s", c.seq, c.peer))
		}
		d.add(v.now, journal.LaneAcked{Peer: string(c.peer), LaneSeq: c.seq, Hash: row.hash, Bytes: row.bytes})
	}
	d.quietly(c.done) // lost with a crash, the peer's next hello says it again
}

// remoteRefused tells the sender of a chat that the far hub did not admit it;
// the notification is kept until a socket took it.
func (c *ackedCommand) remoteRefused(v *view, d *draft, r Refusal) {
	row, ok := v.outboxRow(c.peer, r.Seq)
	if !ok {
		return
	}
	chat, ok := v.chat(row.seq)
	if !ok { // a receipt: nobody here waits for its being taken
		d.refused(v, r.Reason, "receipt refused by the far hub", string(c.peer))
		return
	}
	d.refused(v, r.Reason, "chat refused by the far hub", chat.Sender+" to "+chat.Target)
	rec := journal.RemoteRefused{
		Peer: string(c.peer), LaneSeq: r.Seq, ChatSeq: row.seq, MsgID: chat.MsgID, Sender: chat.Sender,
		Target: chat.Target, ClientMsgID: chat.ClientMsgID, ClientTimestamp: chat.ClientTimestamp,
		Reason: string(r.Reason),
	}
	seq := d.add(v.now, rec)
	to := v.ro.byName(chat.Sender)
	d.tellSender(v, chat.Sender, to, noteItem(to, seq, refusalFrame(v.config.self, v.now, rec)))
	v.endRemote(d, c.peer, r.Seq, r.Reason)
}
