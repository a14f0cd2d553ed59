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
