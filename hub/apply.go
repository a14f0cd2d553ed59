package hub

import (
	"encoding/binary"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// tables receives the table rows that go with an event. Live it is the turn's
// batch; at replay the rows are already there and are discarded.
type tables interface {
	Put(key, value []byte)
	Delete(key []byte)
	DeleteRange(lo, hi []byte)
}

// noTables discards rows.
type noTables struct{}

func (noTables) Put(_, _ []byte)         {}
func (noTables) Delete([]byte)           {}
func (noTables) DeleteRange(_, _ []byte) {}

// touched says what besides the tables an event changed that is published after
// the sync.
type touched struct {
	lane    *lane
	out     *OutRecord // what the event added to lane
	ended   uint64     // record of lane that the event has withdrawn
	trust   bool
	pending bool // the hubs that wait for a decision
}

// apply folds one event into the hot state and writes its table rows. It is the
// only code that does so, live and at replay, and it cannot fail: what it is
// given has been decided, or has passed replay's checks.
func (st *state) apply(ev *journal.Event, rec journal.Record, w tables) (t touched) {
	st.head = ev.Seq
	switch r := rec.(type) {
	case journal.EpochStarted:
		st.epoch = Epoch{Number: r.Number, ID: r.ID}
	case journal.ChatAccepted:
		t.lane, t.out = st.chatAccepted(ev, &r, w)
	case journal.ReceiptSettled:
		st.receiptSettled(ev, &r, w)
	case journal.NotificationsSettled:
		for _, seq := range r.Seqs {
			w.Delete(journal.NoteKey(r.Sender, seq))
		}
	case journal.WatermarkRaised:
		st.known.use(r.Identity, r.Seq)
		w.Put(journal.WatermarkKey(r.Identity), seqBytes(r.Seq))
	case journal.TokenCreated:
		st.tokens[r.ID] = token{id: r.ID, seat: r.Seat, by: r.By, hash: r.Hash, createdUS: ev.TimeUS}
	case journal.TokenRevoked:
		delete(st.tokens, r.ID)
	case journal.InboundRefused:
		t.lane = st.laneIn(&r.Origin, r.LaneHash)
		t.lane.refuse(r.Origin.LaneSeq, wire.Reason(r.Reason))
	case journal.LaneAcked:
		t.lane = st.laneAcked(&r, w)
	case journal.RemoteRefused:
		st.lane(wire.HubID(r.Peer)).denied++
		st.waits.remove(wire.HubID(r.Peer), r.LaneSeq)
		w.Put(journal.NoteKey(r.Sender, ev.Seq), nil)
	case journal.ProfileAgreed:
		t.lane = st.profileAgreed(&r)
	case journal.LinkBackoff:
		t.lane = st.linkBackoff(&r)
	case journal.LinkOpened:
		t.lane = st.linkOpened(&r)
	case journal.LinkClosed:
		t.lane = st.linkClosed(&r)
	case journal.RecordWithdrawn:
		t.lane, t.ended = st.recordWithdrawn(ev, &r, w), r.LaneSeq
	case journal.LaneReconciled:
		t.lane = st.laneReconciled(&r)
	case journal.LaneAdopted:
		t.lane = st.laneAdopted(&r)
	case journal.LaneResumed:
		t.lane = st.laneResumed(&r)
	case journal.VerdictsSaid:
		t.lane, t.out = st.verdictsSaid(ev, &r, w)
	case journal.VerdictsHeard:
		t.lane = st.verdictsHeard(ev, &r, w)
	case journal.SnapshotTaken:
		st.snapshot = r.UpTo
	case journal.InviteCreated, journal.InviteWithdrawn, journal.PeerJoined, journal.PeerCalled, journal.PeerApproved, journal.PeerRejected, journal.PeerRevoked:
		return st.applyTrust(ev, rec)
	case journal.RecordQuarantined, journal.BodyPurged:
	default:
		panic("hub: apply of an unknown record kind")
	}
	return t
}

func (st *state) chatAccepted(ev *journal.Event, r *journal.ChatAccepted, w tables) (*lane, *OutRecord) {
	st.lastMsg = r.MsgID
	if r.Dest != "" {
		return st.chatOut(ev, r, w)
	}
	if r.Origin == nil {
		indexMailbox(ev.Seq, r, w, st.known)
		return nil, nil
	}
	w.Put(journal.MailboxKey(seatPart+r.Target, ev.Seq), mailboxRow(r.Sender, r.Target))
	st.known.use(r.Target, 0)
	return st.laneIn(r.Origin, linkOfOrigin(ev, r).Next(st.lane(wire.HubID(r.Origin.Hub)).in.Hash)), nil
}

// chatOut enters an accepted chat into its lane: the outbox row commits with the
// acceptance.
func (st *state) chatOut(ev *journal.Event, r *journal.ChatAccepted, w tables) (*lane, *OutRecord) {
	l := st.lane(wire.HubID(r.Dest))
	out := &OutRecord{Seq: r.LaneSeq, Origin: originOfChat(st.hubID, st.epoch, ev, r), Body: ev.Body}
	l.grow(ev.Seq, out, bodyLen(ev), w)
	if r.AwaitsRemote {
		st.waits.push(&remoteWait{peer: l.peer, laneSeq: r.LaneSeq, chatSeq: ev.Seq, acceptedUS: ev.TimeUS})
	}
	return l, out
}

// grow adds a record to our lane to a peer: the event that made it, and the bytes of
// its body.
func (l *lane) grow(seq uint64, rec *OutRecord, bytes uint64, w tables) {
	l.outHead, l.outHash = rec.Seq, linkOf(rec.Kind, &rec.Origin).Next(l.outHash)
	l.outBytes += bytes
	row := outboxRow{seq: seq, hash: l.outHash, bytes: l.outBytes, kind: rec.Kind}
	w.Put(journal.LaneKey(string(l.peer), rec.Seq), row.append(make([]byte, 0, outboxRowBytes)))
}

// laneIn moves the cursor of a peer's lane over one record, admitted or refused.
func (st *state) laneIn(o *journal.Origin, hash [32]byte) *lane {
	l := st.lane(wire.HubID(o.Hub))
	l.in = Cursor{EpochID: o.EpochID, Seq: o.LaneSeq, Hash: hash}
	return l
}

// refuse remembers one refusal and forgets those no link can ask for again.
func (l *lane) refuse(seq uint64, reason wire.Reason) {
	kept := make([]Refusal, 0, len(l.refused)+1)
	for _, r := range l.refused {
		if r.Seq+refusalWindow > seq {
			kept = append(kept, r)
		}
	}
	l.refused = append(kept, Refusal{Seq: seq, Reason: reason})
}

// trimEvery is how many records of a lane are acknowledged before their rows go. The
// store reads any row past every range that was deleted since it last wrote a table,
// so that a range for each acknowledgement would make every reading slower than the
// one before.
const trimEvery = 256

// laneAcked trims the outbox up to a cumulative acknowledgement, now and then. The row
// of the acknowledged record itself stays: its hash answers a peer whose cursor stands
// there before this event is published.
func (st *state) laneAcked(r *journal.LaneAcked, w tables) *lane {
	l := st.lane(wire.HubID(r.Peer))
	if whole := l.acked / trimEvery; r.LaneSeq/trimEvery > whole { // what was below it, the trim before has taken
		w.DeleteRange(journal.LaneRange(r.Peer, max(whole*trimEvery, 1)-1, r.LaneSeq-1))
	}
	l.acked, l.ackHash = r.LaneSeq, r.Hash
	if l.acked >= l.marks.aged {
		l.marks.freed, l.marks.freedFrom = 0, 0
	}
	switch {
	case l.acked == l.outHead:
		l.ackBytes = l.outBytes
	case r.Bytes > 0: // 0: an event of a build that did not count
		l.ackBytes = r.Bytes
	}
	return l
}

func (st *state) receiptSettled(ev *journal.Event, r *journal.ReceiptSettled, w tables) {
	if r.RemoteHub != "" {
		st.settledHere(r)
	} else {
		st.settledLocally(r)
	}
	w.Put(journal.NoteKey(r.Sender, ev.Seq), nil)
}

func (st *state) settledLocally(r *journal.ReceiptSettled) {
	if r.State == journal.ReceiptPending {
		st.pending.push(&pendingReceipt{
			chatSeq: r.ChatSeq, msgID: r.MsgID, sender: r.Sender, target: r.Target, clientMsgID: r.ClientMsgID,
		})
	} else {
		st.pending.remove(r.ChatSeq)
	}
}

// indexMailbox writes one row per target part of a directed chat, so that a
// replay reads what is for one identity and nothing else.
func indexMailbox(seq uint64, r *journal.ChatAccepted, w tables, known *identities) {
	target := wire.CompileTarget(r.Target)
	if !target.Directed() {
		return
	}
	for _, part := range target.Parts() {
		key, ok := mailboxPart(part)
		if !ok {
			continue // holds a control character: no name can match it
		}
		w.Put(journal.MailboxKey(key, seq), mailboxRow(r.Sender, part))
		if key == part {
			known.use(part, 0)
		}
	}
}

// globPart is the mailbox list of all parts that are patterns (`?`, `[`): they
// are tested one by one at a replay.
const globPart = "\x01"

// seatPart begins the mailbox list of what came from other hubs: it is for one
// seat, and never for a project or a role of the same name.
const seatPart = "\x02"

// mailboxPart names the mailbox list a target part is kept in.
func mailboxPart(part string) (key string, ok bool) {
	glob := false
	for i := range len(part) {
		switch c := part[i]; {
		case c < 0x20:
			return "", false
		case c == '?' || c == '[':
			glob = true
		}
	}
	if glob {
		return globPart, true
	}
	return part, part != ""
}

// mailboxRow is the value of a mailbox row: the sender, whose own mail it is
// not, and the target part as written.
func mailboxRow(sender, part string) []byte {
	row := binary.AppendUvarint(make([]byte, 0, len(sender)+len(part)+2), uint64(len(sender)))
	row = append(row, sender...)
	return append(row, part...)
}

func parseMailboxRow(row []byte) (sender, part string, ok bool) {
	n, size := binary.Uvarint(row)
	if size <= 0 || n > uint64(len(row)-size) || size > 1 && row[size-1] == 0 { // a length has one form
		return "", "", false
	}
	return string(row[size : size+int(n)]), string(row[size+int(n):]), true
}

func seqBytes(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// linkOf is the lane transcript of a record.
func linkOf(kind wire.LaneKind, o *Origin) wire.LaneLink {
	return wire.LaneLink{
		Kind: kind, Seq: o.LaneSeq, MsgID: o.MsgID, AcceptedUS: o.AcceptedUS, Sender: o.Sender,
		Principal: o.Principal, Target: o.Target, ClientMsgID: o.ClientMsgID, Digest: o.Digest,
	}
}

// linkOfOrigin is the lane transcript of a chat that came over a link, the same
// bytes its origin computed.
func linkOfOrigin(ev *journal.Event, r *journal.ChatAccepted) wire.LaneLink {
	o := r.Origin
	return wire.LaneLink{
		Seq: o.LaneSeq, MsgID: o.MsgID, AcceptedUS: o.AcceptedUS, Sender: o.Sender,
		Principal: o.Principal, Target: o.Target, ClientMsgID: r.ClientMsgID, Digest: ev.Digest,
	}
}
