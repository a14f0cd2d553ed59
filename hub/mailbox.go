package hub

import (
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// mailboxOf says whose mailbox a connection may read or acknowledge: its own,
// or that of the identity it is a sidecar of. Any other wish falls back to its
// own name (core-wire-v2 section 7).
func mailboxOf(name, logical, wanted string) string {
	if wanted == logical {
		return logical
	}
	return name
}

// raiseCapped lifts a watermark to a client's cursor, at most to the last event:
// a client cannot push it into the future.
func (d *draft) raiseCapped(v *view, identity string, seq uint64) {
	seq = min(seq, v.st.head)
	if seq > v.watermark(identity) {
		d.raise(identity, seq)
	}
}

// ackCommand says that a client took directed chats (section 7). It has no
// answer and is never an error.
type ackCommand struct {
	bySession
	acks []wire.Ack
}

// ackRun bounds the acknowledgements that wait as one command.
const ackRun = 256

// absorb joins acknowledgements that wait behind each other: a reader of many
// senders gives one command a round like everybody, and must keep up with all of
// them.
func (c *ackCommand) absorb(next command) bool {
	n, ok := next.(*ackCommand)
	if !ok || len(c.acks)+len(n.acks) > ackRun {
		return false
	}
	c.acks = append(c.acks, n.acks...)
	return true
}

func (c *ackCommand) decide(v *view, d *draft) {
	d.heard(c.s, v.now, true)
	for i := range c.acks {
		c.one(v, d, &c.acks[i])
	}
}

func (c *ackCommand) one(v *view, d *draft, ack *wire.Ack) {
	chat, ok := v.chat(ack.Seq)
	if !ok || chat.Dest != "" {
		return
	}
	identity := mailboxOf(c.s.name, c.s.logical, ack.MailboxFor)
	if chat.Sender == identity || !addressed(chat, identity, c.s.roles()) {
		return
	}
	if ack.Seq > v.watermark(identity) {
		d.raise(identity, ack.Seq)
	}
	pending := v.st.pending
	if chat.Origin != nil {
		pending = v.st.laneOf(wire.HubID(chat.Origin.Hub)).pending
	}
	if p, ok := pending.get(ack.Seq); ok && !d.settles(ack.Seq) && !v.saidOf(p.peer, ack.Seq) {
		v.settle(d, p, journal.ReceiptDeferred, []string{identity}, "")
	}
}

// addressed says whether a directed chat is for an identity. What came from
// another hub is for exactly one seat.
func addressed(chat *journal.ChatAccepted, identity string, roles []string) bool {
	if chat.Origin != nil {
		return chat.Target == identity
	}
	target := wire.CompileTarget(chat.Target)
	return target.Directed() && target.Matches(identity, roles)
}

// mailbox serves a heartbeat's mailbox members: the cursor lifts the watermark,
// and a wish for replay queues the mailbox on the session's socket. It is read
// from the journal by the socket's writer, up to the turn that asked, so that
// every later chat follows live.
func (s *session) mailbox(v *view, d *draft, name, logical string, hb wire.Heartbeat) {
	identity := mailboxOf(name, logical, hb.MailboxFor)
	if hb.HasSince {
		d.raiseCapped(v, identity, hb.SinceSeq)
	}
	if !hb.Mailbox {
		return
	}
	roles := s.roles()
	if hb.HasRoles {
		roles = hb.Roles
	}
	m := &mailbox{
		store: v.store, identity: identity, roles: roles, after: hb.SinceSeq, upTo: d.next - 1,
	}
	self := v.config.self
	d.tell(s, &stream{each: func(yield func([]byte) bool) { m.frames(self, yield) }})
}

// mailbox reads the directed chats of one identity from the journal.
type mailbox struct {
	store       *journal.Store
	identity    string
	roles       []string
	after, upTo uint64
}

// mailboxPage is the number of rows read from one list at a time.
const mailboxPage = 256

// parts names the lists that may hold mail for the identity.
func (m *mailbox) parts() []string {
	parts := []string{m.identity, seatPart + m.identity}
	if project := wire.Project(m.identity); project != m.identity {
		parts = append(parts, project)
	}
	for _, role := range m.roles {
		// A role is the agent's own text: one that no target part can equal must
		// not name another list, such as the mail from other hubs.
		if list, ok := mailboxPart(role); ok && list == role && role != m.identity {
			parts = append(parts, role)
		}
	}
	return append(parts, globPart)
}

// each calls fn with the sequence of every matching chat, in order, until fn
// returns false. Errors of the store end it: they have been reported by it.
func (m *mailbox) each(fn func(seq uint64) bool) {
	lists := make([]mailList, 0, 4)
	for _, part := range m.parts() {
		lists = append(lists, mailList{part: part, next: m.after + 1})
	}
	last := m.after
	for {
		best := -1
		for i := range lists {
			if lists[i].fill(m) && (best < 0 || lists[i].rows[0].seq < lists[best].rows[0].seq) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		row := lists[best].rows[0]
		lists[best].rows = lists[best].rows[1:]
		if row.seq == last || !m.wants(row) {
			continue
		}
		last = row.seq
		if !fn(row.seq) {
			return
		}
	}
}

// wants drops the identity's own chats and patterns that do not match it.
func (m *mailbox) wants(row mailRow) bool {
	if row.sender == m.identity {
		return false
	}
	if row.list != globPart {
		return true
	}
	target := wire.CompileTarget(row.part)
	return target.Matches(m.identity, m.roles)
}

// mailList is one mailbox list being read a page at a time.
type mailList struct {
	part string
	next uint64
	rows []mailRow
	done bool
}

type mailRow struct {
	seq                uint64
	list, sender, part string
}

// fill makes rows non-empty unless the list has ended.
func (l *mailList) fill(m *mailbox) bool {
	if len(l.rows) > 0 || l.done {
		return len(l.rows) > 0
	}
	lo, hi := journal.MailboxRange(l.part, l.next, m.upTo)
	err := m.store.Scan(lo, hi, func(key, value []byte) (bool, error) {
		if sender, part, ok := parseMailboxRow(value); ok {
			l.rows = append(l.rows, mailRow{seq: journal.SeqOfKey(key), list: l.part, sender: sender, part: part})
		}
		return len(l.rows) < mailboxPage, nil
	})
	l.done = err != nil || len(l.rows) < mailboxPage
	if len(l.rows) > 0 {
		l.next = l.rows[len(l.rows)-1].seq + 1
	}
	return len(l.rows) > 0
}

// frames yields the replayed chat frames.
func (m *mailbox) frames(self wire.HubID, yield func([]byte) bool) {
	m.each(func(seq uint64) bool {
		f, ok := chatFrameOf(m.store, self, seq)
		if !ok {
			return true // purged: an audited hole
		}
		f.Replayed = true
		return yield(f.Append(nil))
	})
}

// count is the number of matching chats, at most limit.
func (m *mailbox) count(limit uint64) (n uint64) {
	m.each(func(uint64) bool {
		n++
		return n < limit
	})
	return n
}

// chatFrameOf builds the frame of a journalled chat from its stored bytes.
func chatFrameOf(store *journal.Store, self wire.HubID, seq uint64) (*wire.ChatFrame, bool) {
	ev, ok, err := store.Event(seq)
	if err != nil || !ok {
		return nil, false
	}
	rec, err := ev.Record()
	chat, isChat := rec.(journal.ChatAccepted)
	if err != nil || !isChat {
		return nil, false
	}
	body, ok, err := store.Body(seq)
	if err != nil || !ok {
		return nil, false
	}
	return &wire.ChatFrame{
		Sender: chat.Sender, Target: chat.Target, HasTarget: chat.HasTarget, HubID: self,
		MsgID: chat.MsgID, Seq: seq, TimeUS: ev.TimeUS, Body: body,
	}, true
}

// storedNotes queues the notifications of a sender that no socket has taken yet,
// oldest first.
func (v *view) storedNotes(s *session, name string, upTo uint64) *notes {
	return &notes{store: v.store, self: v.config.self, to: s, name: name, upTo: upTo}
}

// notes streams stored notifications; those written are settled.
type notes struct {
	store *journal.Store
	self  wire.HubID
	to    *session
	name  string
	upTo  uint64
	sent  []uint64 // the writer's
}

func (n *notes) Size() int { return 1024 }

// Frames reads a page at a time, so that no iterator stays open while a slow
// socket is written to.
func (n *notes) Frames(yield func([]byte) bool) {
	for next := uint64(1); next != 0; {
		var page []uint64
		page, next = n.page(next)
		for _, seq := range page {
			frames := noteFrames(n.store, n.self, n.name, seq)
			for _, f := range frames {
				if !yield(f.Append(nil)) {
					return
				}
			}
			if len(frames) > 0 {
				n.sent = append(n.sent, seq)
			}
		}
	}
}

// page lists the next rows from a sequence on; the next page's start is 0 after
// the last one. An error of the store has been reported by it.
func (n *notes) page(from uint64) (seqs []uint64, next uint64) {
	if from > n.upTo {
		return nil, 0
	}
	lo, hi := journal.NoteRange(n.name, from, n.upTo)
	err := n.store.Scan(lo, hi, func(key, _ []byte) (bool, error) {
		seqs = append(seqs, journal.SeqOfKey(key))
		return len(seqs) < mailboxPage, nil
	})
	if err == nil && len(seqs) == mailboxPage {
		next = seqs[len(seqs)-1] + 1
	}
	return seqs, next
}

func (n *notes) Written(ok bool) {
	if ok {
		n.to.took(n.sent...)
	}
}

// noteFrames rebuilds the frames of a stored notification of one name from its event.
func noteFrames(store *journal.Store, self wire.HubID, name string, seq uint64) []appender {
	ev, ok, err := store.Event(seq)
	if err != nil || !ok {
		return nil
	}
	rec, err := ev.Record()
	if err != nil {
		return nil
	}
	switch r := rec.(type) {
	case journal.ReceiptSettled:
		return []appender{receiptFrame(self, ev.TimeUS, r)}
	case journal.RemoteRefused:
		return []appender{refusalFrame(self, ev.TimeUS, r)}
	case journal.RecordWithdrawn:
		return []appender{withdrawnFrame(self, ev.TimeUS, r)}
	case journal.VerdictsHeard:
		return toldBy(self, ev.TimeUS, &r, name)
	}
	return nil
}
