package checker

import (
	"fmt"
	"slices"
	"strings"
)

// judgeVerdicts holds every verdict of one hub on a chat of another against both journals.
func (f *facts) judgeVerdicts(r *Report) {
	for _, hub := range sortedKeys(f.journals) {
		j := f.journals[hub]
		for _, v := range j.said {
			f.judgeSaid(r, j, v)
		}
		for _, v := range j.heard {
			f.judgeHeard(r, j, v)
		}
	}
}

// judgeSaid: what a hub says of a chat stands in the journal of the chat's hub, and the chat in its own.
func (f *facts) judgeSaid(r *Report, j *journal, v *verdicts) {
	base := Finding{Hub: j.hub, Seq: v.event, To: v.lane.dest}
	for _, one := range v.list {
		if c := j.chats[one.chatSeq]; c == nil || c.origin == nil || c.lane.origin != v.lane.dest || c.lane.seq != one.about {
			r.add(base.as(ReceiptFalse, fmt.Sprintf("it says %s of record %d of the lane from %s, and holds no such chat", one.state, one.about, v.lane.dest)))
		}
	}
	far := f.journals[v.lane.dest]
	if far == nil || far.heard[v.lane] != nil || far.refusedIn[v.lane] != "" {
		return
	}
	if v.lane.seq <= j.acked[v.lane.dest] {
		r.add(base.as(EffectBeforeSync, "a receipt was acknowledged over the link, and the journal of the acknowledging hub holds none"))
	}
	r.add(base.as(ReceiptMissing, fmt.Sprintf("receipt %d of the lane never reached the journal of %s", v.lane.seq, v.lane.dest)))
}

// judgeHeard: what is said to come from another hub is what that hub says.
func (f *facts) judgeHeard(r *Report, j *journal, v *verdicts) {
	base := Finding{Hub: j.hub, Seq: v.event, From: v.lane.origin}
	from := f.journals[v.lane.origin]
	if from == nil {
		r.incomplete("no journal export of hub %s, whose verdicts %s holds", v.lane.origin, j.hub)
		return
	}
	said := from.said[v.lane]
	switch {
	case said == nil:
		r.add(base.as(EffectBeforeSync, fmt.Sprintf("receipt %d came over the link, and the journal of %s holds none", v.lane.seq, from.hub)))
	case v.differs(said):
		r.add(base.as(Altered, fmt.Sprintf("receipt %d differs between the two journals", v.lane.seq)))
	}
}

// judgeReceipts holds every receipt told, and every receipt settled, against the journals and against each other.
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
	f.judgeAsked(r, states)
	f.judgeNotifications(r)
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
	delivered := saysDelivered(rc.state)
	if rc.notification == "" && (!delivered || !f.directed(c, rc)) {
		return // broadcasts are told once and not journalled
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
	if delivered {
		f.judgeDelivered(r, base, rc, c)
	}
}

// judgeDelivered holds a receipt that says delivered against the recipient: its application's log, and its hub's journal.
func (f *facts) judgeDelivered(r *Report, base Finding, rc *receipt, c *chat) {
	to, single := f.recipient(c.target, rc.from.hub)
	if !single {
		return
	}
	t := told{from: rc.from, id: c.id, seq: c.seq, to: c.target}
	if f.seats[to] && to != rc.from && !f.reached(&t, c, to) {
		r.add(base.as(ReceiptFalse, fmt.Sprintf("the receipt says %s, and the recipient's application never received it", rc.state)))
	}
	far := f.journals[c.dest]
	if c.dest == "" || far == nil {
		return
	}
	if said := far.saidOf[c.lane]; !proves(said, rc.state) {
		r.add(base.as(ReceiptFalse, fmt.Sprintf("the receipt says %s, and the journal of %s says %q", rc.state, c.dest, said)))
	}
}

// proves says whether what the far hub said carries what the sender was told. What is told at once stands on a chat that
// never waited; what is told later on any final delivery.
func proves(said []string, told string) bool {
	taken := slices.Contains(said, stateDeferred)
	if told == stateDelivered {
		taken = taken && !slices.Contains(said, statePending)
	}
	return taken || slices.Contains(said, stateDelivered)
}

// judgeAsked holds that who asked for a receipt of an accepted chat is told its outcome.
func (f *facts) judgeAsked(r *Report, states map[recordKey][]string) {
	for i := range f.told {
		t := &f.told[i]
		j := f.journals[t.from.hub]
		to, single := f.recipient(t.to, t.from.hub)
		if j == nil || t.id == "" || !f.message(t.from, t.id).asked || !single || to == t.from {
			continue
		}
		c, told := j.chats[t.seq], states[recordKey{t.from.hub, t.seq}]
		base := Finding{Word: ReceiptMissing, Hub: t.from.hub, Seq: t.seq, From: t.from.name, To: t.to, ID: t.id}
		switch {
		case f.refused(t, c):
		case len(told) == 0:
			r.add(base.as(ReceiptMissing, "asked for a receipt, told accepted, and no receipt came"))
		case slices.Equal(told, []string{statePending}) && c != nil && f.reached(t, c, to):
			r.add(base.as(ReceiptMissing, "told that it waits, and not that the recipient's application took it"))
		}
	}
}

// judgeNotifications holds that one notification id says one thing.
func (f *facts) judgeNotifications(r *Report) {
	type key struct {
		from seat
		id   string
	}
	first := map[key]string{}
	for i := range f.receipts {
		rc := &f.receipts[i]
		if rc.notification == "" {
			continue
		}
		at := key{rc.from, rc.notification}
		if said, known := first[at]; known && said != rc.content {
			r.add(Finding{Word: ReceiptConflict, Hub: rc.from.hub, Seq: rc.seq, From: rc.from.name, Detail: fmt.Sprintf("%s says [%s] and [%s]", rc.notification, said, rc.content)})
		} else if !known {
			first[at] = rc.content
		}
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
		r.add(Finding{Word: Contradiction, Hub: key.hub, Seq: key.seq, Detail: fmt.Sprintf("the outcomes %s are %s for one chat", strings.Join(states, ", "), how)})
	}
}
