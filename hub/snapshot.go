package hub

import (
	"bytes"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// The hot state as one value: protobuf wire fields, numbers append-only, written
// in a fixed order so that equal states have equal bytes. Field 1 is the format;
// a reader refuses another one and replays from the beginning instead.
//
//	1 format  2 hub id  3 epoch number  4 epoch id  5 head  6 last msg_id
//	7 identity { 1 name 2 watermark }                       least recently used first
//	8 receipt  { 1 chat seq 2 msg id 3 sender 4 target 5 client msg id }   oldest first
//	9 token    { 1 id 2 seat 3 by 4 hash 5 created us }                    by id
//	10 peer    { 1 hub 2 endpoint… 3 pin… 4 pattern… 5 by 6 user 7 added us 8 invite, if any }  by hub
//	11 lane    { 1 peer 2 out head 3 out hash 4 acked 5 ack hash 6 in epoch id 7 in seq 8 in hash
//	           9 refusal { 1 seq 2 reason } 10 denied 11 out bytes 12 ack bytes
//	           13 receipt { as 8, 6 lane seq there }
//	           14 marks { 1 sent 2 up 3 aged 4 freed 5 freed from } if there are any
//	           20 link facts { 1 profile agreed 2 back-off 3 reconciled } if there are any }          by peer
//	12 invite  { 1 id 2 hash 3 by 4 user 5 created us 6 expires us 7 used by pin }          oldest first
//	13 pending { 1 hub 2 pin 3 endpoint… 4 host 5 joined 6 invited 7 invite id 8 secret, if any
//	           9 first us 10 last us 11 expires us 12 times }                               oldest first
//	14 revoked { 1 peer 2 by 3 user 4 why 5 at us }                                         by hub
//	15 rejected { 1 hub 2 pin 3 by 4 user 5 at us }                                         oldest first
//	20 wait    { 1 peer 2 lane seq 3 chat seq 4 accepted us 5 told }                   oldest first
const hotStateFormat = 2

// errHotState says that a snapshot is not a hot state this build reads.
var errHotState = errors.New("hub: unreadable snapshot of the hot state")

// encode returns the hot state's bytes: equal for equal states.
func (st *state) encode() []byte {
	var b fields
	b.num(1, hotStateFormat)
	b.text(2, string(st.hubID))
	b.num(3, st.epoch.Number)
	b.bytes(4, st.epoch.ID[:])
	b.num(5, st.head)
	b.num(6, st.lastMsg)
	for _, id := range st.known.all() {
		b.message(7, func(m *fields) { m.text(1, id.name); m.num(2, id.watermark) })
	}
	for _, p := range st.pending.all() {
		b.message(8, p.encode)
	}
	for _, id := range sortedKeys(st.tokens) {
		t := st.tokens[id]
		b.message(9, func(m *fields) {
			m.text(1, t.id)
			m.text(2, t.seat)
			m.text(3, t.by)
			m.bytes(4, t.hash[:])
			m.num(5, uint64(t.createdUS))
		})
	}
	for _, p := range st.trust.Peers() {
		b.message(10, func(m *fields) { encodePeer(m, &p) })
	}
	for _, id := range sortedKeys(st.lanes) {
		b.message(11, func(m *fields) { st.lanes[id].encode(m) })
	}
	st.encodeTrust(&b)
	st.waits.encode(&b)
	return b
}

func (p *pendingReceipt) encode(m *fields) {
	m.num(1, p.chatSeq)
	m.num(2, p.msgID)
	m.text(3, p.sender)
	m.text(4, p.target)
	m.text(5, p.clientMsgID)
	if p.peer != "" {
		m.num(6, p.about)
	}
}

func (q *remoteWaitList) encode(b *fields) {
	var inner fields // one for all: there may be many
	for e := q.all.Front(); e != nil; e = e.Next() {
		w := e.Value.(*remoteWait)
		inner = inner[:0]
		inner.text(1, string(w.peer))
		inner.num(2, w.laneSeq)
		inner.num(3, w.chatSeq)
		inner.num(4, uint64(w.acceptedUS))
		inner.flag(5, w.told)
		b.bytes(20, inner)
	}
}

func (l *lane) encode(m *fields) {
	m.text(1, string(l.peer))
	m.num(2, l.outHead)
	m.bytes(3, l.outHash[:])
	m.num(4, l.acked)
	m.bytes(5, l.ackHash[:])
	m.bytes(6, l.in.EpochID[:])
	m.num(7, l.in.Seq)
	m.bytes(8, l.in.Hash[:])
	for _, r := range l.refused {
		m.message(9, func(m *fields) { m.num(1, r.Seq); m.text(2, string(r.Reason)) })
	}
	m.num(10, l.denied)
	m.num(11, l.outBytes)
	m.num(12, l.ackBytes)
	for _, p := range l.pending.all() {
		m.message(13, p.encode)
	}
	if l.marks != (laneMarks{}) {
		m.message(14, l.marks.encode)
	}
	if l.facts != (linkFacts{}) {
		m.message(20, l.facts.encode)
	}
}

// decodeState reads what encode wrote and nothing else: a state has one encoding, so
// that a field in another order, of another type or length, or a name given twice is
// no state. The memory it takes is bounded by the length of b.
func decodeState(id wire.HubID, b []byte) (*state, error) {
	st := newState(id)
	var trust trusted
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			if v.num != hotStateFormat {
				return errHotState
			}
		case 2:
			if v.text() != string(id) {
				return errHotState
			}
		case 3:
			st.epoch.Number = v.num
		case 4:
			copy(st.epoch.ID[:], v.raw)
		case 5:
			st.head = v.num
		case 6:
			st.lastMsg = v.num
		case 7:
			return st.decodeIdentity(v.raw)
		case 8:
			p, err := decodePending(v.raw)
			st.pending.push(p)
			return err
		case 9:
			return st.decodeToken(v.raw)
		case 10:
			return trust.decodePeer(v.raw)
		case 11:
			return st.decodeLane(v.raw)
		case 12:
			return st.ceremony.decodeInvite(v.raw)
		case 13:
			return st.ceremony.decodePending(v.raw)
		case 14:
			return trust.decodeRevoked(v.raw)
		case 15:
			return trust.decodeRejected(v.raw)
		case 20:
			return st.decodeWait(v.raw)
		}
		return nil
	})
	st.trust = federation.RestoreTrust(id, trust.peers, trust.revoked, trust.rejected)
	if err != nil {
		return nil, err
	}
	if !st.settleable() || !bytes.Equal(st.encode(), b) {
		return nil, errHotState
	}
	return st, nil
}

func (st *state) decodeIdentity(b []byte) error {
	var id identity
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			id.name = v.text()
		case 2:
			id.watermark = v.num
		}
		return nil
	})
	st.known.use(id.name, id.watermark)
	return err
}

// settleable says that each receipt can be found by its chat: a chat with two of them
// would be written the same and never settle both.
func (st *state) settleable() bool {
	for _, l := range st.lanes {
		if l.pending != nil && len(l.pending.bySeq) != l.pending.len() {
			return false
		}
	}
	return len(st.pending.bySeq) == st.pending.len() && len(st.waits.byLane) == st.waits.len()
}

func decodePending(b []byte) (*pendingReceipt, error) {
	p := &pendingReceipt{}
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			p.chatSeq = v.num
		case 2:
			p.msgID = v.num
		case 3:
			p.sender = v.text()
		case 4:
			p.target = v.text()
		case 5:
			p.clientMsgID = v.text()
		case 6:
			p.about = v.num
		}
		return nil
	})
	return p, err
}

func (st *state) decodeWait(b []byte) error {
	w := &remoteWait{}
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			w.peer = wire.HubID(v.text())
		case 2:
			w.laneSeq = v.num
		case 3:
			w.chatSeq = v.num
		case 4:
			w.acceptedUS = int64(v.num)
		case 5:
			w.told = v.num == 1
		}
		return nil
	})
	st.waits.push(w)
	return err
}

func (st *state) decodeToken(b []byte) error {
	var t token
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			t.id = v.text()
		case 2:
			t.seat = v.text()
		case 3:
			t.by = v.text()
		case 4:
			copy(t.hash[:], v.raw)
		case 5:
			t.createdUS = int64(v.num)
		}
		return nil
	})
	st.tokens[t.id] = t
	return err
}

func (st *state) decodeLane(b []byte) error {
	l := &lane{}
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			l.peer = wire.HubID(v.text())
		case 2:
			l.outHead = v.num
		case 3:
			copy(l.outHash[:], v.raw)
		case 4:
			l.acked = v.num
		case 5:
			copy(l.ackHash[:], v.raw)
		case 6:
			copy(l.in.EpochID[:], v.raw)
		case 7:
			l.in.Seq = v.num
		case 8:
			copy(l.in.Hash[:], v.raw)
		case 9:
			return l.decodeRefusal(v.raw)
		case 10:
			l.denied = v.num
		case 11:
			l.outBytes = v.num
		case 12:
			l.ackBytes = v.num
		case 13:
			return l.decodePending(v.raw)
		case 14:
			return l.marks.decode(v.raw)
		case 20:
			return l.facts.decode(v.raw)
		}
		return nil
	})
	st.lanes[l.peer] = l
	return err
}

func (l *lane) decodePending(b []byte) error {
	p, err := decodePending(b)
	if l.pending == nil {
		l.pending = newReceiptQueue()
	}
	p.peer = l.peer // written before its receipts
	l.pending.push(p)
	return err
}

func (l *lane) decodeRefusal(b []byte) error {
	var r Refusal
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			r.Seq = v.num
		case 2:
			r.Reason = wire.Reason(v.text())
		}
		return nil
	})
	l.refused = append(l.refused, r)
	return err
}

// fields appends protobuf wire fields.
type fields []byte

func (f *fields) num(n protowire.Number, v uint64) {
	*f = protowire.AppendVarint(protowire.AppendTag(*f, n, protowire.VarintType), v)
}

func (f *fields) bytes(n protowire.Number, v []byte) {
	*f = protowire.AppendBytes(protowire.AppendTag(*f, n, protowire.BytesType), v)
}

func (f *fields) flag(n protowire.Number, v bool) {
	if v {
		f.num(n, 1)
	} else {
		f.num(n, 0)
	}
}

// some writes bytes unless there are none.
func (f *fields) some(n protowire.Number, v []byte) {
	if len(v) > 0 {
		f.bytes(n, v)
	}
}

func (f *fields) text(n protowire.Number, v string) { f.bytes(n, []byte(v)) }

func (f *fields) message(n protowire.Number, fill func(*fields)) {
	var inner fields
	fill(&inner)
	f.bytes(n, inner)
}

// field is one decoded field: a number or bytes.
type field struct {
	num uint64
	raw []byte
}

func (v field) text() string { return string(v.raw) }

// eachField calls fn for every field and refuses any other encoding.
func eachField(b []byte, fn func(protowire.Number, field) error) error {
	for len(b) > 0 {
		n, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errHotState
		}
		b = b[size:]
		var v field
		switch typ {
		case protowire.VarintType:
			v.num, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			v.raw, size = protowire.ConsumeBytes(b)
		default:
			return errHotState
		}
		if size < 0 {
			return errHotState
		}
		if err := fn(n, v); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
