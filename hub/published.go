package hub

import (
	"sync"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// ringBytes and ringRecords bound the latest records of one lane that are kept
// in memory for its link; a link that is behind reads the journal.
const (
	ringBytes   = 4 << 20
	ringRecords = 8192
	ringsBytes  = 64 << 20 // of all lanes together
	ringRoom    = 512      // what a record takes beside its body
)

// published is what links and queries may see: the lanes and the trust of the
// last synced turn. The releaser writes it, anybody reads it.
type published struct {
	mu    sync.RWMutex
	lanes map[wire.HubID]*publishedLane
	trust *federation.Trust
	// pending are the hubs that wait for a decision, expired ones among them; read
	// only.
	pending []federation.Pending
	head    uint64
	rings   int // bytes in all rings
	// secured says that agents need a token.
	secured bool
}

type publishedLane struct {
	in      Cursor
	out     LaneOut
	outHash [32]byte
	ackHash [32]byte
	refused []Refusal
	bytes   uint64 // of bodies not acknowledged
	mark    uint64 // last record that may have left
	aged    uint64 // last record withdrawn
	up      bool   // a link is open
	facts   linkFacts
	ring    ring
}

// laneUpdate is the state of one lane after one event, to be published with its
// turn.
type laneUpdate struct {
	peer             wire.HubID
	in               Cursor
	out              LaneOut
	outHash, ackHash [32]byte
	refused          []Refusal
	bytes            uint64
	facts            linkFacts
	mark, aged       uint64
	up               bool
	record           *OutRecord // the record this event added to the lane
	ended            uint64     // the record this event has withdrawn
}

func laneUpdateOf(l *lane) laneUpdate {
	return laneUpdate{
		peer: l.peer, in: l.in, out: LaneOut{Head: l.outHead, Acked: l.acked, Denied: l.denied},
		outHash: l.outHash, ackHash: l.ackHash, refused: l.refused, bytes: l.waiting(), facts: l.facts,
		mark: l.mark(), aged: l.marks.aged, up: l.marks.up,
	}
}

// originOfChat is the provenance of a chat accepted here for another hub.
func originOfChat(self wire.HubID, epoch Epoch, ev *journal.Event, r *journal.ChatAccepted) Origin {
	return Origin{
		Hub: self, Epoch: epoch.Number, EpochID: epoch.ID, LaneSeq: r.LaneSeq, MsgID: r.MsgID,
		AcceptedUS: ev.TimeUS, Sender: r.Sender, Principal: r.Principal, Target: r.Target,
		ClientMsgID: r.ClientMsgID, Digest: ev.Digest,
	}
}

func newPublished(st *state) *published {
	p := &published{lanes: map[wire.HubID]*publishedLane{}, trust: st.trust, pending: st.ceremony.pending, head: st.head, secured: len(st.tokens) > 0}
	for _, l := range st.lanes {
		p.update(laneUpdateOf(l))
	}
	return p
}

// turn publishes a synced turn and lists the peers whose lanes grew.
func (p *published) turn(t *turn) (woken []wire.HubID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.head, p.secured = t.head, t.secured
	if t.trust != nil {
		p.trust = t.trust
	}
	if t.ceremony {
		p.pending = t.pending
	}
	for _, u := range t.lanes {
		before := p.lanes[u.peer]
		if before == nil || before.out.Head < u.out.Head {
			if len(woken) == 0 || woken[len(woken)-1] != u.peer {
				woken = append(woken, u.peer)
			}
		}
		p.update(u)
	}
	return woken
}

func (p *published) update(u laneUpdate) {
	l := p.lanes[u.peer]
	if l == nil {
		l = &publishedLane{}
		p.lanes[u.peer] = l
	}
	l.in, l.out, l.outHash, l.ackHash, l.refused, l.bytes = u.in, u.out, u.outHash, u.ackHash, u.refused, u.bytes
	l.facts, l.mark, l.aged, l.up = u.facts, u.mark, u.aged, u.up
	p.rings -= l.ring.bytes
	if u.record != nil {
		l.ring.push(*u.record, min(ringBytes, ringsBytes-p.rings))
	}
	l.ring.drop(u.out.Acked)
	l.ring.withdraw(u.ended)
	p.rings += l.ring.bytes
}

// trusted is who is trusted and who waits for it, both of one turn.
func (p *published) trusted() (*federation.Trust, []federation.Pending) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.trust, p.pending
}

func (p *published) isSecured() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.secured
}

func (p *published) cursor(peer wire.HubID) Cursor {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if l := p.lanes[peer]; l != nil {
		return l.in
	}
	return Cursor{}
}

func (p *published) lane(peer wire.HubID) publishedLane {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if l := p.lanes[peer]; l != nil {
		out := *l
		out.ring = ring{}
		return out
	}
	return publishedLane{}
}

// aging lists the lanes of which something never left.
func (p *published) aging() (out []agingLane) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for peer, l := range p.lanes {
		if after := max(l.mark, l.aged); after < l.out.Head {
			out = append(out, agingLane{peer: peer, after: after, head: l.out.Head})
		}
	}
	return out
}

// page copies records after a position out of the ring; ok is false when the
// ring does not reach back that far.
func (p *published) page(peer wire.HubID, after uint64, maxCount, maxBytes int) (recs []OutRecord, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	l := p.lanes[peer]
	if l == nil || after >= l.out.Head {
		return nil, true
	}
	return l.ring.page(after, maxCount, maxBytes)
}

// ring keeps the latest records of a lane, dense in sequence.
type ring struct {
	recs  []OutRecord
	bytes int
}

// push adds the lane's next record and lets the oldest go beyond maxBytes.
func (r *ring) push(rec OutRecord, maxBytes int) {
	if n := len(r.recs); n > 0 && r.recs[n-1].Seq+1 != rec.Seq {
		r.recs, r.bytes = nil, 0
	}
	r.recs = append(r.recs, rec)
	r.bytes += len(rec.Body) + ringRoom
	for len(r.recs) > ringRecords || (r.bytes > maxBytes && len(r.recs) > 0) {
		r.shift()
	}
}

// drop forgets what the peer has acknowledged.
func (r *ring) drop(acked uint64) {
	for len(r.recs) > 0 && r.recs[0].Seq <= acked {
		r.shift()
	}
}

// withdraw forgets the body of a record that was withdrawn.
func (r *ring) withdraw(seq uint64) {
	if len(r.recs) == 0 || seq < r.recs[0].Seq || seq > r.recs[len(r.recs)-1].Seq {
		return
	}
	rec := &r.recs[seq-r.recs[0].Seq]
	r.bytes -= len(rec.Body)
	rec.Kind, rec.Body = wire.LaneWithdrawn, nil
}

func (r *ring) shift() {
	r.bytes -= len(r.recs[0].Body) + ringRoom
	r.recs[0] = OutRecord{}
	r.recs = r.recs[1:]
	if len(r.recs) == 0 {
		r.recs = nil
	}
}

func (r *ring) page(after uint64, maxCount, maxBytes int) ([]OutRecord, bool) {
	if len(r.recs) == 0 || r.recs[0].Seq > after+1 {
		return nil, false
	}
	from := int(after + 1 - r.recs[0].Seq)
	if from >= len(r.recs) {
		return nil, true
	}
	to, bytes := from, 0
	for to < len(r.recs) && to-from < maxCount && (to == from || bytes+len(r.recs[to].Body) <= maxBytes) {
		bytes += len(r.recs[to].Body)
		to++
	}
	return append([]OutRecord(nil), r.recs[from:to]...), true
}
