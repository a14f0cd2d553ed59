package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// judgeOutcomes holds the number of records, deliveries and refusals of each message against its sends.
func (f *facts) judgeOutcomes(r *Report) {
	refusedRecords := f.countRecords()
	for _, key := range f.sortedMessages() {
		m := f.messages[key]
		if m.sends > 0 {
			r.Totals.Sent++
		}
		if m.told > 0 {
			r.Totals.Accepted++
		}
		if f.seats[key.from] && f.journals[key.from.hub] != nil {
			f.judgeMessage(r, key, m, refusedRecords[key])
		}
	}
}

// countRecords counts the records per message in the journal of its sender's hub, and those among them that the far
// hub refused.
func (f *facts) countRecords() map[messageKey]int {
	refused := map[messageKey]int{}
	for _, j := range f.journals {
		for _, c := range j.chats {
			if c.origin != nil || c.id == "" {
				continue
			}
			key := messageKey{seat{j.hub, c.sender}, c.id}
			f.message(key.from, key.id).records++
			if _, yes := j.refusedOut[c.lane]; c.dest != "" && yes {
				refused[key]++
			}
		}
	}
	return refused
}

func (f *facts) judgeMessage(r *Report, key messageKey, m *message, refusedRecords int) {
	base := Finding{Hub: key.from.hub, From: key.from.name, To: m.to, ID: key.id, Seq: m.told}
	switch {
	case m.records > 0 && m.sends == 0:
		r.add(base.as(Contradiction, "the journal holds a message its sender never sent"))
	case m.records > m.sends:
		r.add(base.as(DeliveredTwice, fmt.Sprintf("sent %d times, and the journal holds %d records of it", m.sends, m.records)))
	}
	// A send that made no record may be refused without one; every other refusal stands in the journal.
	if m.refusals > max(m.sends-m.records, 0)+refusedRecords {
		r.add(base.as(EffectBeforeSync, "told refused, and the journal holds the record without that refusal"))
	}
	if len(m.got) > 0 && m.refusals >= max(m.sends, 1) {
		r.add(base.as(Contradiction, "told refused, and delivered"))
	}
}

func (f *facts) sortedMessages() []messageKey {
	keys := make([]messageKey, 0, len(f.messages))
	for key := range f.messages {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b messageKey) int {
		return cmp.Or(cmp.Compare(a.from.hub, b.from.hub), cmp.Compare(a.from.name, b.from.name), cmp.Compare(a.id, b.id))
	})
	return keys
}

// judgeReceipts holds every receipt told, and every receipt settled, against the journal and against each other.
func (f *facts) judgeReceipts(r *Report) {
	states := map[recordKey][]string{}
	for i := range f.receipts {
		rc := &f.receipts[i]
		if f.journals[rc.from.hub] == nil {
			continue
		}
		f.judgeReceipt(r, rc)
		key := recordKey{rc.from.hub, rc.seq}
		if !slices.Contains(states[key], rc.state) {
			states[key] = append(states[key], rc.state)
		}
	}
	for key, told := range states {
		f.judgeStates(r, key, told, "told")
	}
	for _, j := range f.journals {
		for seq, settled := range j.settled {
			f.judgeStates(r, recordKey{j.hub, seq}, settled, "journalled")
		}
	}
}

func (f *facts) judgeReceipt(r *Report, rc *receipt) {
	j := f.journals[rc.from.hub]
	base := Finding{Hub: rc.from.hub, Seq: rc.seq, From: rc.from.name}
	c := j.chats[rc.seq]
	if c == nil || c.origin != nil || c.sender != rc.from.name {
		r.add(base.as(EffectBeforeSync, "a receipt for a chat the journal does not hold"))
		return
	}
	base.To, base.ID = c.target, c.id
	delivered := rc.state == stateDelivered || rc.state == stateDeferred
	if rc.notification == "" && (!delivered || !f.directed(c, rc)) {
		return // broadcasts, and verdicts a far hub still owes, are told once and not journalled
	}
	if want := fmt.Sprintf("delivery-receipt:%d:%s", rc.seq, rc.state); rc.notification != "" && rc.notification != want {
		r.add(base.as(Contradiction, fmt.Sprintf("the receipt tells %s under the id %s", rc.state, rc.notification)))
	}
	switch {
	case slices.Contains(j.settled[rc.seq], rc.state):
	case delivered:
		r.add(base.as(Unproven, "the receipt says delivered, and the journal holds no such verdict"))
	default:
		r.add(base.as(EffectBeforeSync, fmt.Sprintf("the receipt says %s, and the journal holds no such verdict", rc.state)))
	}
}

func (f *facts) directed(c *chat, rc *receipt) bool {
	_, single := f.recipient(c.target, rc.from.hub)
	return single
}

// judgeStates holds that at most one final outcome exists, and that a final immediate one was never pending.
func (f *facts) judgeStates(r *Report, key recordKey, states []string, how string) {
	final, pending := map[string]bool{}, false
	for _, s := range states {
		if s == statePending {
			pending = true
			continue
		}
		final[s] = true
	}
	if len(final) > 1 || (pending && final[stateDelivered]) {
		r.add(Finding{Word: Contradiction, Hub: key.hub, Seq: key.seq, Detail: fmt.Sprintf("the outcomes %v are %s for one chat", states, how)})
	}
}
