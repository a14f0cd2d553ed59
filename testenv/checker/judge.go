package checker

import (
	"fmt"
	"slices"
)

// judge applies every rule that needs the logs and the journals together.
func (f *facts) judge(r *Report) {
	f.judgeEvidence(r)
	f.judgeSends(r)
	f.judgeReceived(r)
	f.judgeTold(r)
	f.judgeRecords(r)
	f.judgeOutcomes(r)
	f.judgeVerdicts(r)
	f.judgeReceipts(r)
}

// judgeEvidence says which hubs of the logs have no export.
func (f *facts) judgeEvidence(r *Report) {
	missing := map[string]bool{}
	for s := range f.seats {
		if f.journals[s.hub] == nil {
			missing[s.hub] = true
		}
	}
	for _, hub := range sortedKeys(missing) {
		r.incomplete("no journal export of hub %s", hub)
	}
	r.Totals.Clients, r.Totals.Hubs = len(f.seats), len(f.journals)
}

// judgeSends holds that a hub accepts what came over one connection in the order of sending. Only messages sent once
// count: with a repeat, which of its records was told is not known.
func (f *facts) judgeSends(r *Report) {
	for _, sent := range f.sent {
		var last messageKey
		var lastSeq uint64
		for _, key := range sent {
			m := f.messages[key]
			if m.sends != 1 || m.told == 0 {
				continue
			}
			if m.told < lastSeq {
				r.add(Finding{Word: Order, Hub: key.from.hub, Seq: m.told, From: key.from.name, To: m.to, ID: key.id, Detail: fmt.Sprintf("sent after %q on one connection, accepted before it (seq %d)", last.id, lastSeq)})
			}
			last, lastSeq = key, max(lastSeq, m.told)
		}
	}
}

// judgeTold holds every own copy against the journal of the hub that sent it.
func (f *facts) judgeTold(r *Report) {
	for i := range f.told {
		t := &f.told[i]
		j := f.journals[t.from.hub]
		if j == nil {
			continue
		}
		base := Finding{Hub: t.from.hub, Seq: t.seq, From: t.from.name, To: t.to, ID: t.id}
		c := j.chats[t.seq]
		if c == nil || c.origin != nil || c.sender != t.from.name || c.id != t.id || c.msgID != t.msgID {
			r.add(base.as(EffectBeforeSync, "told accepted, and the journal holds no such record"))
		} else {
			f.judgeCopy(r, base, t)
		}
		if t.id != "" && f.message(t.from, t.id).sends == 0 {
			r.add(base.as(Contradiction, "told accepted, and never sent"))
		}
		f.judgeLoss(r, base, t, c)
	}
}

// judgeCopy compares the own copy with what was sent.
func (f *facts) judgeCopy(r *Report, base Finding, t *told) {
	if t.id == "" {
		return
	}
	if m := f.message(t.from, t.id); m.sends > 0 && m.digest != t.digest {
		r.add(base.as(Altered, "the own copy is not what was sent"))
	}
}

// judgeLoss holds that what was told accepted reached its seat's application or was refused.
func (f *facts) judgeLoss(r *Report, base Finding, t *told, c *chat) {
	to, single := f.recipient(t.to, t.from.hub)
	if !single || to == t.from || f.reached(t, c, to) || f.refused(t, c) {
		return
	}
	f.lose(r, base, recordKey{t.from.hub, t.seq}, t.from, "told accepted, and the recipient's application never received it")
}

// lose reports a loss once for each message, and once for each record of a message without an id.
func (f *facts) lose(r *Report, base Finding, record recordKey, from seat, detail string) {
	known := f.lost[record]
	f.lost[record] = true
	if base.ID != "" {
		m := f.message(from, base.ID)
		known, m.lost = known || m.lost, true
	}
	if !known {
		r.add(base.as(AcceptedLost, detail))
	}
}

// reached says whether the recipient's application has the message, by its id or by one of its records.
func (f *facts) reached(t *told, c *chat, to seat) bool {
	if t.id != "" {
		return f.message(t.from, t.id).got[to] > 0
	}
	if c == nil {
		return false
	}
	here := recordKey{t.from.hub, t.seq}
	if c.dest != "" {
		far := f.farRecord(c)
		if far == nil {
			return false
		}
		here = recordKey{c.dest, far.seq}
	}
	return f.handed[delivery{here, to}] > 0
}

// farRecord is the record of the same lane sequence in the journal of the destination.
func (f *facts) farRecord(c *chat) *chat {
	if far := f.journals[c.dest]; far != nil {
		return far.in[c.lane]
	}
	return nil
}

// refused says whether a refusal ended the chat. For a record in a journal only the journals can say so: a hub refuses
// after acceptance nothing but what another hub refused.
func (f *facts) refused(t *told, c *chat) bool {
	if c != nil {
		return c.dest != "" && f.laneRefused(c)
	}
	if t.id == "" {
		return false
	}
	m := f.message(t.from, t.id)
	return m.sends > 0 && m.refusals >= m.sends
}

func (f *facts) laneRefused(c *chat) bool {
	if _, yes := f.journals[c.lane.origin].refusedOut[c.lane]; yes {
		return true
	}
	far := f.journals[c.dest]
	if far == nil {
		return false
	}
	_, yes := far.refusedIn[c.lane]
	return yes
}

// judgeRecords holds every record against what was sent and against the other end of its lane.
func (f *facts) judgeRecords(r *Report) {
	for _, hub := range sortedKeys(f.journals) {
		j := f.journals[hub]
		for _, seq := range sortedKeys(j.chats) {
			c := j.chats[seq]
			if c.origin != nil {
				f.judgeIncoming(r, j, c)
				continue
			}
			f.judgeBody(r, j, c)
			if c.dest != "" {
				f.judgeOutgoing(r, j, c)
			}
		}
	}
}

// judgeBody compares the exported body of a record with what its sender sent.
func (f *facts) judgeBody(r *Report, j *journal, c *chat) {
	if c.payload == "" || c.id == "" {
		return
	}
	if m := f.message(seat{j.hub, c.sender}, c.id); m.sends > 0 && m.digest != c.payload {
		r.add(Finding{Word: Altered, Hub: j.hub, Seq: c.seq, From: c.sender, To: c.target, ID: c.id, Detail: "the body in the journal is not what was sent"})
	}
}

// judgeOutgoing: an accepted record owed to another hub stands there, as a chat or as a refusal; all the more when
// that hub acknowledged it.
func (f *facts) judgeOutgoing(r *Report, j *journal, c *chat) {
	far := f.journals[c.dest]
	if far == nil {
		r.incomplete("no journal export of hub %s, to which %s owes records", c.dest, j.hub)
		return
	}
	_, refused := far.refusedIn[c.lane]
	here := far.in[c.lane]
	base := Finding{Hub: c.dest, Seq: c.seq, From: c.sender + "@" + j.hub, To: c.target, ID: c.id}
	if here != nil && (refused || j.refusedOut[c.lane] != "") {
		r.add(base.as(Contradiction, "one record of the lane is admitted and refused, or admitted and withdrawn"))
	}
	if here != nil || refused || j.withdrawn[c.lane] {
		return
	}
	if j.refusedOut[c.lane] != "" {
		r.add(base.as(EffectBeforeSync, "the refusal told over the link is not in the journal of the hub that told it"))
		return
	}
	if c.lane.seq <= j.acked[c.dest] {
		r.add(base.as(EffectBeforeSync, "acknowledged over the link, and the journal of the acknowledging hub holds no such record"))
	}
	f.lose(
		r, base, recordKey{j.hub, c.seq}, seat{j.hub, c.sender},
		fmt.Sprintf("record %d of the lane, accepted by %s, never reached the journal of %s", c.lane.seq, j.hub, c.dest),
	)
}

// judgeIncoming: a record from another hub is that hub's record, unaltered.
func (f *facts) judgeIncoming(r *Report, j *journal, c *chat) {
	from := f.journals[c.origin.Hub]
	base := Finding{Hub: j.hub, Seq: c.seq, From: c.sender, To: c.target, ID: c.id}
	if from == nil {
		r.incomplete("no journal export of hub %s, whose records %s holds", c.origin.Hub, j.hub)
		return
	}
	sent := from.out[c.lane]
	if sent == nil {
		r.add(base.as(EffectBeforeSync, fmt.Sprintf("record %d of the lane came over the link, and the journal of %s holds no such record", c.lane.seq, from.hub)))
		return
	}
	if c.digest != sent.digest {
		r.add(base.as(Altered, "the body's digest differs between the two journals"))
	}
	if c.payload != "" && sent.payload != "" && c.payload != sent.payload {
		r.add(base.as(Altered, "the payload differs between the two journals"))
	}
	if what := difference(c, sent); what != "" {
		r.add(base.as(Contradiction, "the two journals disagree about the "+what))
	}
}

// difference names the first member that the two ends of a lane state differently.
func difference(c, sent *chat) string {
	for _, part := range []struct {
		name string
		same bool
	}{
		{"sender", c.origin.Sender == sent.sender && c.sender == sent.sender+"@"+sent.lane.origin},
		{"target", c.origin.Target == sent.target},
		{"client_msg_id", c.id == sent.id},
		{"msg_id", c.origin.MsgID == sent.msgID},
		{"time of acceptance", c.origin.AcceptedUS == sent.timeUS},
	} {
		if !part.same {
			return part.name
		}
	}
	return ""
}

func (base Finding) as(word Word, detail string) Finding {
	base.Word, base.Detail = word, detail
	return base
}

func sortedKeys[K interface{ ~string | ~uint64 }, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
