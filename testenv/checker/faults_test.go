package checker

import (
	"fmt"
	"testing"

	"fleetrelay/testenv/clientlog"
)

// fault is one way to break a promise in a finished history, and the word it must be found under.
type fault struct {
	name   string
	word   Word
	damage func(w *world) bool // false when this history gives no occasion
}

// faults lists every kind of damage. Each changes the evidence as the broken product would leave it.
var faults = []fault{
	{"a local message never reached its application", AcceptedLost, func(w *world) bool {
		return w.dropEntry(func(e *clientlog.Entry) bool { return e.Kind == clientlog.Received && !remote(e.Sender) })
	}},
	{"a remote message never reached its application", AcceptedLost, func(w *world) bool {
		return w.dropEntry(func(e *clientlog.Entry) bool { return e.Kind == clientlog.Received && remote(e.Sender) })
	}},
	{"a record of the lane was acknowledged and dropped", AcceptedLost, (*world).dropLaneRecord},
	{"an application was handed one record twice", DeliveredTwice, func(w *world) bool {
		return w.repeatEntry(func(*clientlog.Entry) {})
	}},
	{"a lane record was admitted twice", DeliveredTwice, func(w *world) bool {
		return w.repeatChat(func(c *exportLine) bool { return c.Record.Origin != nil })
	}},
	{"one sent frame made two records", DeliveredTwice, func(w *world) bool {
		return w.repeatChat(func(c *exportLine) bool { return c.Record.Origin == nil && c.Record.Dest == "" })
	}},
	{"an event stands in the journal twice", DeliveredTwice, func(w *world) bool {
		h := w.hubs["hub-b"]
		h.events = append(h.events, h.events[len(h.events)-1])
		return true
	}},
	{"two messages of one sender were handed over in the wrong order", Order, (*world).swapReceived},
	{"a hub accepted two messages of one connection in the wrong order", Order, (*world).swapAccepted},
	{"two records of a lane were admitted in the wrong order", Order, (*world).swapLane},
	{"the application was handed another payload", Altered, func(w *world) bool {
		return w.alter(clientlog.Received)
	}},
	{"the own copy has another payload", Altered, func(w *world) bool { return w.alter(clientlog.Accepted) }},
	{"the far journal holds another body", Altered, func(w *world) bool {
		return w.alterBody(func(c *exportLine) bool { return c.Record.Origin != nil })
	}},
	{"the own journal holds another body", Altered, func(w *world) bool {
		return w.alterBody(func(c *exportLine) bool { return c.Record.Origin == nil })
	}},
	{"a body does not have its digest", Altered, func(w *world) bool {
		return w.first(func(c *exportLine) bool { return true }, func(c *exportLine) { *c.Body += " " })
	}},
	{"an own copy was told and the journal lost its tail", EffectBeforeSync, (*world).forgetChat},
	{"the seq that was told went to another message", EffectBeforeSync, func(w *world) bool {
		return w.first(w.toldRecord, func(c *exportLine) { c.Record.ClientMsgID = "other" })
	}},
	{"a record left over the link and the journal forgot it", EffectBeforeSync, func(w *world) bool {
		return w.first(func(c *exportLine) bool { return c.Record.Dest != "" }, func(c *exportLine) { c.Kind = "snapshot_taken" })
	}},
	{"an acknowledged record is not in the acknowledging journal", EffectBeforeSync, (*world).dropLaneRecord},
	{"a pending receipt was told and is not in the journal", EffectBeforeSync, func(w *world) bool {
		return w.forgetReceipt(statePending)
	}},
	{"a delivered receipt has no event", Unproven, func(w *world) bool { return w.forgetReceipt(stateDelivered) }},
	{"a deferred receipt has no event", Unproven, func(w *world) bool { return w.forgetReceipt(stateDeferred) }},
	{"an immediate receipt is not told", ReceiptMissing, func(w *world) bool { return w.forgetTold(stateDelivered) }},
	{"a deferred receipt is not told", ReceiptMissing, func(w *world) bool { return w.forgetTold(stateDeferred) }},
	{"a verdict did not reach the hub of its chat", ReceiptMissing, func(w *world) bool {
		return w.verdicts(kindVerdictsHeard, func(_ *modelHub, e *exportLine) bool { neutralise(e); return true })
	}},
	{"one receipt is told twice and not the same", ReceiptConflict, func(w *world) bool {
		return w.tell(func(e *clientlog.Entry) { e.Reason = "unavailable" })
	}},
	{"a receipt says delivered of what waits at the far hub", ReceiptFalse, (*world).claimDelivered},
	{"a receipt says delivered of what the recipient never received", ReceiptFalse, (*world).dropDelivered},
	{"a hub speaks of a chat that it does not hold", ReceiptFalse, func(w *world) bool {
		return w.verdicts(kindVerdictsSaid, func(_ *modelHub, e *exportLine) bool { e.Record.Verdicts[0].About += 1000; return true })
	}},
	{"a verdict changed on its way", Altered, func(w *world) bool {
		return w.verdicts(kindVerdictsHeard, func(_ *modelHub, e *exportLine) bool {
			e.Record.Verdicts[0].Recipients = []string{"p/s9"}
			return true
		})
	}},
	{"one verdict of a record got lost on its way", Altered, func(w *world) bool {
		return w.verdicts(kindVerdictsHeard, func(_ *modelHub, e *exportLine) bool { e.Record.Verdicts = e.Record.Verdicts[1:]; return true })
	}},
	{"a verdict stands in the journal twice", DeliveredTwice, func(w *world) bool {
		return w.verdicts(kindVerdictsHeard, func(h *modelHub, e *exportLine) bool { w.event(h, e.Kind, e.Record, nil); return true })
	}},
	{"a verdict left over the link and the journal forgot it", EffectBeforeSync, func(w *world) bool {
		return w.verdicts(kindVerdictsSaid, func(_ *modelHub, e *exportLine) bool { neutralise(e); return true })
	}},
	{"one client message id has two contents", Contradiction, (*world).sendOther},
	{"a message nobody sent was delivered", Contradiction, (*world).forge},
	{"a lane record was admitted and refused", Contradiction, (*world).refuseAdmitted},
	{"a chat was withdrawn and admitted", Contradiction, (*world).withdrawAdmitted},
	{"a message was refused and delivered", Contradiction, (*world).tellRefused},
	{"a receipt has two outcomes", Contradiction, func(w *world) bool {
		for _, h := range w.hubs {
			for _, e := range h.events {
				if e.Kind == kindReceiptSettled && e.Record.State == stateDelivered {
					w.event(h, kindReceiptSettled, exportRecord{ChatSeq: e.Record.ChatSeq, State: stateExpired}, nil)
					return true
				}
			}
		}
		return false
	}},
	{"the journals disagree about the sender", Contradiction, func(w *world) bool {
		return w.first(func(c *exportLine) bool { return c.Record.Origin != nil }, func(c *exportLine) { c.Record.Origin.Sender = "p/s9" })
	}},
}

func remote(sender string) bool { return senderSeat(sender, "").hub != "" }

// entries walks the logs of all applications.
func (w *world) entries(fn func(a *modelApp, i int, e *clientlog.Entry) bool) bool {
	for _, a := range w.apps {
		for i, e := range a.log {
			if fn(a, i, e) {
				return true
			}
		}
	}
	return false
}

// chats walks the chats of both journals.
func (w *world) chats(fn func(h *modelHub, i int, c *exportLine) bool) bool {
	for _, id := range []string{"hub-a", "hub-b"} {
		for i, c := range w.hubs[id].events {
			if c.Kind == kindChatAccepted && fn(w.hubs[id], i, c) {
				return true
			}
		}
	}
	return false
}

func (w *world) first(match func(*exportLine) bool, change func(*exportLine)) bool {
	return w.chats(func(_ *modelHub, _ int, c *exportLine) bool {
		if !match(c) {
			return false
		}
		change(c)
		return true
	})
}

func (w *world) dropEntry(match func(*clientlog.Entry) bool) bool {
	return w.entries(func(a *modelApp, i int, e *clientlog.Entry) bool {
		if !match(e) || !w.wasTold(e.Sender, a.hub, e.ClientMsgID) {
			return false
		}
		a.log = append(a.log[:i:i], a.log[i+1:]...)
		return true
	})
}

// wasTold says whether the sender was told that its message is accepted: only then is its loss a broken promise.
func (w *world) wasTold(sender, hub, id string) bool {
	from := senderSeat(sender, hub)
	a := w.app(from.hub, from.name)
	for _, e := range a.log {
		if e.Kind == clientlog.Accepted && e.ClientMsgID == id {
			return true
		}
	}
	return false
}

// toldRecord says whether this very record's own copy was told.
func (w *world) toldRecord(c *exportLine) bool {
	return w.entries(func(a *modelApp, _ int, e *clientlog.Entry) bool {
		h := w.hubs[a.hub]
		return e.Kind == clientlog.Accepted && e.Seq <= uint64(len(h.events)) && h.events[e.Seq-1] == c
	})
}

func (w *world) repeatEntry(change func(*clientlog.Entry)) bool {
	return w.entries(func(a *modelApp, _ int, e *clientlog.Entry) bool {
		if e.Kind != clientlog.Received {
			return false
		}
		again := *e
		change(&again)
		a.log = append(a.log, &again)
		return true
	})
}

// neutralise turns an event into one the rules do not read, so that the sequence stays dense.
func neutralise(e *exportLine) { *e = exportLine{Seq: e.Seq, Kind: "snapshot_taken", TimeUS: e.TimeUS} }

func (w *world) dropLaneRecord() bool {
	return w.first(func(c *exportLine) bool { return c.Record.Origin != nil }, func(c *exportLine) {
		w.entries(func(a *modelApp, i int, e *clientlog.Entry) bool {
			if e.Kind != clientlog.Received || e.Seq != c.Seq || e.Sender != c.Record.Sender {
				return false
			}
			a.log = append(a.log[:i:i], a.log[i+1:]...)
			return true
		})
		neutralise(c)
	})
}

func (w *world) repeatChat(match func(*exportLine) bool) bool {
	return w.chats(func(h *modelHub, _ int, c *exportLine) bool {
		if !match(c) {
			return false
		}
		rec := c.Record
		h.msgID++
		rec.MsgID = h.msgID
		w.event(h, kindChatAccepted, rec, c.body())
		return true
	})
}

func (w *world) swapReceived() bool {
	for _, a := range w.apps {
		last := map[string]int{}
		for i, e := range a.log {
			if e.Kind != clientlog.Received {
				continue
			}
			if before, ok := last[e.Sender]; ok {
				a.log[i], a.log[before] = a.log[before], a.log[i]
				return true
			}
			last[e.Sender] = i
		}
	}
	return false
}

// swapAccepted has the hub take two messages of one connection in the wrong order, consistently everywhere.
func (w *world) swapAccepted() bool {
	for _, a := range w.apps {
		var one *clientlog.Entry
		for _, e := range a.log {
			if e.Kind != clientlog.Sent || w.sends(a, e.ClientMsgID) != 1 || !w.wasTold(a.name, a.hub, e.ClientMsgID) {
				continue
			}
			if one != nil && one.Conn == e.Conn {
				*one, *e = *e, *one
				return true
			}
			one = e
		}
	}
	return false
}

func (w *world) sends(a *modelApp, id string) int {
	n := 0
	for _, e := range a.log {
		if e.Kind == clientlog.Sent && e.ClientMsgID == id {
			n++
		}
	}
	return n
}

func (w *world) swapLane() bool {
	var one *exportLine
	var at *modelHub
	return w.chats(func(h *modelHub, _ int, c *exportLine) bool {
		if c.Record.Origin == nil {
			return false
		}
		if one != nil && at == h {
			one.Seq, c.Seq = c.Seq, one.Seq
			h.events[one.Seq-1], h.events[c.Seq-1] = one, c
			return true
		}
		one, at = c, h
		return false
	})
}

func (w *world) alter(kind clientlog.Kind) bool {
	return w.entries(func(_ *modelApp, _ int, e *clientlog.Entry) bool {
		if e.Kind != kind {
			return false
		}
		e.Digest = clientlog.Digest([]byte("forged"))
		return true
	})
}

func (w *world) alterBody(match func(*exportLine) bool) bool {
	return w.chats(func(h *modelHub, _ int, c *exportLine) bool {
		if !match(c) {
			return false
		}
		forged := w.event(h, "snapshot_taken", exportRecord{}, []byte(`{"payload":"forged"}`))
		c.Body, c.Digest, forged.Body = forged.Body, forged.Digest, nil
		return true
	})
}

func (w *world) forgetChat() bool {
	return w.chats(func(_ *modelHub, _ int, c *exportLine) bool {
		if !w.toldRecord(c) {
			return false
		}
		neutralise(c)
		return true
	})
}

func (w *world) forgetReceipt(state string) bool {
	return w.entries(func(a *modelApp, _ int, e *clientlog.Entry) bool {
		if e.Kind != clientlog.Receipt || receiptState(*e) != state {
			return false
		}
		for _, ev := range w.hubs[a.hub].events {
			if ev.Kind == kindReceiptSettled && ev.Record.ChatSeq == e.Seq && ev.Record.State == state {
				neutralise(ev)
			}
			for i := range ev.Record.Verdicts {
				if v := &ev.Record.Verdicts[i]; ev.Kind == kindVerdictsHeard && v.ChatSeq == e.Seq && v.Tells == state {
					v.Tells = ""
				}
			}
		}
		return true
	})
}

// tell has an application told a receipt again.
func (w *world) tell(change func(*clientlog.Entry)) bool {
	return w.entries(func(a *modelApp, _ int, e *clientlog.Entry) bool {
		if e.Kind != clientlog.Receipt {
			return false
		}
		more := *e
		change(&more)
		a.log = append(a.log, &more)
		return true
	})
}

// forgetTold keeps a receipt from an application whose message was told accepted once.
func (w *world) forgetTold(state string) bool {
	return w.entries(func(a *modelApp, i int, e *clientlog.Entry) bool {
		if e.Kind != clientlog.Receipt || receiptState(*e) != state || w.sends(a, e.ClientMsgID) != 1 || !w.wasTold(a.name, a.hub, e.ClientMsgID) {
			return false
		}
		a.log = append(a.log[:i:i], a.log[i+1:]...)
		return true
	})
}

// verdicts walks the events of one kind in both journals.
func (w *world) verdicts(kind string, fn func(h *modelHub, e *exportLine) bool) bool {
	for _, id := range []string{"hub-a", "hub-b"} {
		for _, e := range w.hubs[id].events {
			if e.Kind == kind && fn(w.hubs[id], e) {
				return true
			}
		}
	}
	return false
}

// claimDelivered has a hub tell delivered where the other hub says that the chat waits.
func (w *world) claimDelivered() bool {
	return w.verdicts(kindVerdictsHeard, func(h *modelHub, e *exportLine) bool {
		v := &e.Record.Verdicts[0]
		if v.State != statePending {
			return false
		}
		v.Tells = stateDelivered
		w.entries(func(a *modelApp, _ int, r *clientlog.Entry) bool {
			if a.hub != h.id || r.Kind != clientlog.Receipt || r.Seq != v.ChatSeq || receiptState(*r) != statePending {
				return false
			}
			r.Delivered, r.NotificationID = true, fmt.Sprintf("delivery-receipt:%d:%s", r.Seq, stateDelivered)
			return true
		})
		return true
	})
}

// dropDelivered takes from an application what its sender was told is delivered.
func (w *world) dropDelivered() bool {
	return w.entries(func(a *modelApp, i int, e *clientlog.Entry) bool {
		from := senderSeat(e.Sender, a.hub)
		said := e.Kind == clientlog.Received && w.entries(func(b *modelApp, _ int, r *clientlog.Entry) bool {
			return b.hub == from.hub && b.name == from.name && r.Kind == clientlog.Receipt && r.ClientMsgID == e.ClientMsgID && r.Delivered
		})
		if said {
			a.log = append(a.log[:i:i], a.log[i+1:]...)
		}
		return said
	})
}

func (w *world) sendOther() bool {
	return w.entries(func(a *modelApp, _ int, e *clientlog.Entry) bool {
		if e.Kind != clientlog.Sent {
			return false
		}
		other := *e
		other.Digest = clientlog.Digest([]byte("other"))
		a.log = append(a.log, &other)
		return true
	})
}

func (w *world) forge() bool {
	return w.repeatEntry(func(e *clientlog.Entry) { e.ClientMsgID = "never sent" })
}

func (w *world) refuseAdmitted() bool {
	return w.chats(func(h *modelHub, _ int, c *exportLine) bool {
		if c.Record.Origin == nil {
			return false
		}
		w.event(h, kindInboundRefused, exportRecord{Origin: c.Record.Origin, Reason: "not_permitted"}, nil)
		return true
	})
}

func (w *world) withdrawAdmitted() bool {
	return w.chats(func(_ *modelHub, _ int, c *exportLine) bool {
		o := c.Record.Origin
		if o == nil {
			return false
		}
		w.event(w.hubs[o.Hub], kindWithdrawn, exportRecord{Peer: "hub-a", LaneSeq: o.LaneSeq, Reason: "relay_expired"}, nil)
		if o.Hub == "hub-a" {
			last := w.hubs[o.Hub].events[len(w.hubs[o.Hub].events)-1]
			last.Record.Peer = "hub-b"
		}
		return true
	})
}

func (w *world) tellRefused() bool {
	return w.entries(func(a *modelApp, _ int, e *clientlog.Entry) bool {
		if e.Kind != clientlog.Received {
			return false
		}
		from := senderSeat(e.Sender, a.hub)
		sender := w.app(from.hub, from.name)
		for range w.sends(sender, e.ClientMsgID) {
			w.log(sender, clientlog.Entry{Kind: clientlog.Refused, ClientMsgID: e.ClientMsgID, Reason: "not_permitted"})
		}
		return true
	})
}

func TestFaultsCoverEveryWord(t *testing.T) {
	seen := map[Word]bool{}
	for _, f := range faults {
		seen[f.word] = true
	}
	for _, w := range Words() {
		if !seen[w] {
			t.Errorf("no fault is planted for %s", w)
		}
	}
}
