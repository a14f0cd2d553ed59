package hub

import (
	"cmp"
	"container/list"
	"slices"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// saying is one verdict on a chat of another hub, as a decision wants it.
type saying struct {
	peer    wire.HubID
	verdict journal.ReceiptSettled
}

// say queues a verdict for a chat's hub. It becomes part of a record of our lane when
// the turn ends, and only then waits for an acknowledgement or ceases to.
func (d *draft) say(peer wire.HubID, r journal.ReceiptSettled) {
	d.said = append(d.said, saying{peer: peer, verdict: r})
}

// sayings are the verdicts of a turn for one peer.
type sayings struct {
	list []journal.ReceiptSettled
	// ended are the chats whose waiting receipts these verdicts end, and waiting how
	// many receipts will wait because of them.
	ended   map[uint64]bool
	waiting int
	// oldest is the first receipt that waits and is not among ended.
	oldest *list.Element
}

// keep takes a verdict of an accepted draft.
func (v *view) keep(s *saying) {
	if v.said == nil {
		v.said = map[wire.HubID]*sayings{}
	}
	l := v.st.laneOf(s.peer)
	of := v.said[s.peer]
	if of == nil {
		of = &sayings{list: make([]journal.ReceiptSettled, 0, 64), ended: map[uint64]bool{}, oldest: l.pending.front()}
		v.said[s.peer] = of
	}
	of.list = append(of.list, s.verdict)
	if s.verdict.State == journal.ReceiptPending {
		if l.receipts() == federation.ReceiptsDeferred {
			of.waiting++
		}
		return
	}
	if _, waits := l.pending.get(s.verdict.ChatSeq); waits {
		of.ended[s.verdict.ChatSeq] = true
	}
	of.oldest = of.next(l.pending)
}

// next is the first receipt that waits and is not among ended, looked for from oldest
// on, unless an operator's word has taken that one out meanwhile.
func (s *sayings) next(q *receiptQueue) *list.Element {
	e := s.oldest
	if !q.holds(e) {
		e = q.front()
	}
	for e != nil && s.ended[e.Value.(*pendingReceipt).chatSeq] {
		e = e.Next()
	}
	return e
}

// saidOf says whether this turn has ended the waiting receipt of a peer's chat.
func (v *view) saidOf(peer wire.HubID, chatSeq uint64) bool {
	of := v.said[peer]
	return of != nil && of.ended[chatSeq]
}

// pendingOf is how many receipts of a peer wait, those of this turn counted.
func (v *view) pendingOf(peer wire.HubID) int {
	n := v.st.laneOf(peer).pending.len()
	if of := v.said[peer]; of != nil {
		n += of.waiting - len(of.ended)
	}
	return n
}

// oldestPending is the receipt of a peer that waits longest. There must be more of
// them than one turn makes.
func (v *view) oldestPending(peer wire.HubID) *pendingReceipt {
	q := v.st.laneOf(peer).pending
	if of := v.said[peer]; of != nil {
		return of.next(q).Value.(*pendingReceipt)
	}
	return q.oldest()
}

// inOrder are the verdicts in the order of their chats' numbers, the form of a record.
func (s *sayings) inOrder() []journal.ReceiptSettled {
	byChat := func(a, b journal.ReceiptSettled) int { return cmp.Compare(a.About, b.About) }
	for i := 1; i < len(s.list); i++ {
		if s.list[i].About < s.list[i-1].About {
			slices.SortStableFunc(s.list, byChat)
			break
		}
	}
	return s.list
}

// verdictRoom is what a verdict takes on a link beside its names.
const verdictRoom = 208

// together is how many verdicts, from the first, go into one record: within the
// bounds of the format and of what the peer takes, and each chat once.
func (l *lane) together(list []journal.ReceiptSettled) int {
	limit := wire.MaxVerdictsBytes
	if l.facts.agreed.Number > 0 {
		limit = min(limit, int(min(l.facts.agreed.Profile.MaxBodyBytes, wire.MaxVerdictsBytes)))
	}
	n, size := 0, 16
	for n < min(len(list), wire.MaxVerdicts) {
		size += verdictSize(&list[n])
		if n > 0 && (size > limit || list[n].About == list[n-1].About) {
			break
		}
		n++
	}
	return n
}

// verdictSize is at least as much as a verdict takes on a link.
func verdictSize(r *journal.ReceiptSettled) int {
	size := verdictRoom + len(r.Reason)
	for _, names := range [...][]string{r.Recipients, r.Stale} {
		for _, name := range names {
			size += quoted(name)
		}
	}
	for _, w := range r.Wake {
		size += quoted(w.Name) + quoted(w.Wake)
	}
	return size
}
