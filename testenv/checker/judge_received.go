package checker

import (
	"fmt"
	"strings"
)

// rank is a record's place among the records its sender's hub accepted.
type rank struct{ epoch, seq uint64 }

func (a rank) before(b rank) bool {
	if a.epoch != b.epoch {
		return a.epoch < b.epoch
	}
	return a.seq < b.seq
}

// pair is one direction of one conversation, within one application's log.
type pair struct{ from, to seat }

// judgeReceived walks what each application was handed, in its own order.
func (f *facts) judgeReceived(r *Report) {
	for _, log := range f.received {
		last := map[pair]rank{}
		for i := range log {
			f.judgeDelivery(r, &log[i], last)
		}
	}
}

func (f *facts) judgeDelivery(r *Report, g *got, last map[pair]rank) {
	from := senderSeat(g.sender, g.to.hub)
	base := Finding{Hub: g.to.hub, Seq: g.seq, From: g.sender, To: g.to.name, ID: g.id}
	again := f.countDelivery(r, base, g, from)
	c := f.recordOf(g)
	if f.journals[g.to.hub] != nil && c == nil {
		r.add(base.as(EffectBeforeSync, "delivered, and the journal of the delivering hub holds no such record"))
	}
	f.judgeContent(r, base, g, from, c)
	if c == nil || again {
		return
	}
	now, before := placeOf(c), last[pair{from, g.to}]
	if now.before(before) {
		r.add(base.as(Order, fmt.Sprintf("record %d was handed over after record %d of the same sender", now.seq, before.seq)))
		return
	}
	last[pair{from, g.to}] = now
}

// countDelivery counts by message and by record and says whether the application had either already.
func (f *facts) countDelivery(r *Report, base Finding, g *got, from seat) bool {
	record := delivery{recordKey{g.to.hub, g.seq}, g.to}
	f.handed[record]++
	twice := f.handed[record] > 1
	if g.id != "" {
		m := f.message(from, g.id)
		m.got[g.to]++
		twice = twice || m.got[g.to] > 1
	}
	if twice {
		r.add(base.as(DeliveredTwice, "the application was handed this message before"))
		return true
	}
	r.Totals.Delivered++
	return false
}

// recordOf is the record the delivering hub's journal holds for what the application was handed, nil when it holds
// another one or none.
func (f *facts) recordOf(g *got) *chat {
	j := f.journals[g.to.hub]
	if j == nil {
		return nil
	}
	c := j.chats[g.seq]
	if c == nil || c.sender != g.sender || c.id != g.id || c.msgID != g.msgID {
		return nil
	}
	return c
}

// judgeContent compares what the application was handed with what was sent and with the journal's body.
func (f *facts) judgeContent(r *Report, base Finding, g *got, from seat, c *chat) {
	if g.id != "" {
		switch m := f.message(from, g.id); {
		case m.sends > 0 && m.digest != g.digest:
			r.add(base.as(Altered, "the application was handed another payload than was sent"))
			return
		case m.sends == 0 && f.seats[from]:
			r.add(base.as(Contradiction, "the application was handed a message its sender never sent"))
			return
		}
	}
	if c != nil && c.payload != "" && c.payload != g.digest {
		r.add(base.as(Altered, "the application was handed another payload than the journal holds"))
	}
}

func placeOf(c *chat) rank {
	if c.origin != nil {
		return rank{c.origin.Epoch, c.origin.LaneSeq}
	}
	return rank{0, c.seq}
}

// senderSeat splits a sender as shown to an application of the hub local.
func senderSeat(shown, local string) seat {
	if at := strings.LastIndexByte(shown, '@'); at >= 0 {
		return seat{shown[at+1:], shown[:at]}
	}
	return seat{local, shown}
}
