package hub

import (
	"container/list"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

const (
	knownIdentities = 512  // identities whose mailbox is counted (core-wire-v2 section 7)
	pendingReceipts = 1024 // receipts that may wait for an acknowledgement (section 8)
)

// state is the hot state: what every decision may need and what is open. It is
// a function of the journal alone: apply builds it live and at replay, encode
// and decodeState carry it over a snapshot. Settled records are not in it.
type state struct {
	hubID   wire.HubID
	epoch   Epoch
	head    uint64 // sequence of the last event applied
	lastMsg uint64 // last msg_id given
	// snapshot is what the latest snapshot holds up to. It is not part of one.
	snapshot uint64
	known    *identities
	pending  *receiptQueue
	waits    *remoteWaitList // senders of ours that wait for another hub
	lanes    map[wire.HubID]*lane
	tokens   map[string]token // by id
	trust    *federation.Trust
	ceremony ceremony
}

// Epoch orders what one node states across restores: the number is raised
// whenever its journal is created or restored, the id is random.
type Epoch struct {
	Number uint64
	ID     [16]byte
}

// lane is both directions of the conversation with one peer.
type lane struct {
	peer    wire.HubID
	outHead uint64   // last sequence given to the peer
	outHash [32]byte // rolling hash at outHead
	// outBytes and ackBytes are the bytes of all bodies up to outHead and up to
	// acked: their difference is what waits.
	outBytes, ackBytes uint64
	acked              uint64   // cumulative acknowledgement by the peer
	ackHash            [32]byte // rolling hash at acked
	denied             uint64   // records of ours the peer did not admit
	in                 Cursor   // what this node holds of the peer's lane
	facts              linkFacts
	// refused are the refusals among the latest refusalWindow records of the
	// peer's lane, ascending. The slice is replaced, never altered.
	refused []Refusal
	// pending are receipts of the peer's senders that wait for an acknowledgement,
	// nil while there was none. They have a bound of their own, so that no peer can
	// push out what others wait for.
	pending *receiptQueue
	marks   laneMarks
}

// refusalWindow is how far back refusals are repeated to a peer that may have
// missed them: what a link may have unacknowledged in flight.
const refusalWindow = 4096

// token is one agent token: only its hash is kept.
type token struct {
	id, seat, by string
	hash         [32]byte
	createdUS    int64
}

func newState(id wire.HubID) *state {
	return &state{
		hubID:   id,
		known:   newIdentities(knownIdentities),
		pending: newReceiptQueue(),
		waits:   newRemoteWaits(),
		lanes:   map[wire.HubID]*lane{},
		tokens:  map[string]token{},
		trust:   federation.NewTrust(id, nil),
	}
}

func (st *state) lane(peer wire.HubID) *lane {
	l := st.lanes[peer]
	if l == nil {
		l = &lane{peer: peer}
		st.lanes[peer] = l
	}
	return l
}

// laneOf is the lane shared with a peer as it is now; it makes none.
func (st *state) laneOf(peer wire.HubID) lane {
	if l := st.lanes[peer]; l != nil {
		return *l
	}
	return lane{peer: peer}
}

// tokenOf finds a live token by its hash.
func (st *state) tokenOf(hash [32]byte) (token, bool) {
	for _, t := range st.tokens {
		if t.hash == hash { // hashes of 256-bit secrets: comparison time tells nothing
			return t, true
		}
	}
	return token{}, false
}

// identities remembers the most recently used mailbox identities and their
// watermarks. Older watermarks stay in the journal's table.
type identities struct {
	limit  int
	recent *list.List // front = most recently used; values are *identity
	byName map[string]*list.Element
}

type identity struct {
	name      string
	watermark uint64
}

func newIdentities(limit int) *identities {
	return &identities{limit: limit, recent: list.New(), byName: map[string]*list.Element{}}
}

func (k *identities) get(name string) (watermark uint64, ok bool) {
	if e := k.byName[name]; e != nil {
		return e.Value.(*identity).watermark, true
	}
	return 0, false
}

// use makes name the most recent one. The watermark of a name that was unknown
// is the given one; a known one is only ever raised.
func (k *identities) use(name string, watermark uint64) {
	if e := k.byName[name]; e != nil {
		id := e.Value.(*identity)
		id.watermark = max(id.watermark, watermark)
		k.recent.MoveToFront(e)
		return
	}
	k.byName[name] = k.recent.PushFront(&identity{name: name, watermark: watermark})
	if k.recent.Len() > k.limit {
		last := k.recent.Back()
		delete(k.byName, last.Value.(*identity).name)
		k.recent.Remove(last)
	}
}

// all lists the identities, least recently used first.
func (k *identities) all() []identity {
	out := make([]identity, 0, k.recent.Len())
	for e := k.recent.Back(); e != nil; e = e.Prev() {
		out = append(out, *e.Value.(*identity))
	}
	return out
}

// pendingReceipt is a receipt that waits for the acknowledgement of a genuine
// recipient.
type pendingReceipt struct {
	chatSeq, msgID              uint64
	sender, target, clientMsgID string
	peer                        wire.HubID // of the sender, "" for one of this hub
	about                       uint64     // the chat in that peer's lane
}

// receiptQueue holds pending receipts in order of their chats. A nil one is empty.
type receiptQueue struct {
	order *list.List // of *pendingReceipt, oldest first
	bySeq map[uint64]*list.Element
}

func newReceiptQueue() *receiptQueue {
	return &receiptQueue{order: list.New(), bySeq: map[uint64]*list.Element{}}
}

func (q *receiptQueue) get(chatSeq uint64) (*pendingReceipt, bool) {
	if q == nil || q.bySeq[chatSeq] == nil {
		return nil, false
	}
	return q.bySeq[chatSeq].Value.(*pendingReceipt), true
}

func (q *receiptQueue) push(p *pendingReceipt) { q.bySeq[p.chatSeq] = q.order.PushBack(p) }

func (q *receiptQueue) remove(chatSeq uint64) {
	if q == nil {
		return
	}
	if e := q.bySeq[chatSeq]; e != nil {
		q.order.Remove(e)
		delete(q.bySeq, chatSeq)
	}
}

func (q *receiptQueue) len() int {
	if q == nil {
		return 0
	}
	return q.order.Len()
}

// all lists the receipts in order.
func (q *receiptQueue) all() (out []*pendingReceipt) {
	if q == nil {
		return nil
	}
	for e := q.order.Front(); e != nil; e = e.Next() {
		out = append(out, e.Value.(*pendingReceipt))
	}
	return out
}

func (q *receiptQueue) oldest() *pendingReceipt {
	if e := q.front(); e != nil {
		return e.Value.(*pendingReceipt)
	}
	return nil
}

// holds says whether an element is one of the queue's.
func (q *receiptQueue) holds(e *list.Element) bool {
	return q != nil && e != nil && q.bySeq[e.Value.(*pendingReceipt).chatSeq] == e
}

func (q *receiptQueue) front() *list.Element {
	if q == nil {
		return nil
	}
	return q.order.Front()
}
