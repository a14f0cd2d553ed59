package relay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// store is a small hub: ordered lanes that are durable after a while, strict about everything the relay promises. What
// it had to complain about is in faults.
type store struct {
	self    wire.HubID
	epochID [16]byte
	commit  time.Duration                       // how long a batch takes to become durable
	policy  func(rec *hub.InRecord) wire.Reason // the hub's own refusals
	jobs    chan job
	closed  chan struct{}

	mu      sync.Mutex
	trust   *federation.Trust
	lanes   map[wire.HubID]*testLane
	faults  []string
	page    int // largest page of the outbox, 0 = what is asked for
	waiting int // records handed over and not durable
	most    int // largest waiting
}

type testLane struct {
	out     []hub.OutRecord
	hashes  [][32]byte // hashes[n] at record n
	acked   uint64
	refused []hub.Refusal // by the peer
	profile federation.Profile
	early   bool // records before a profile
	backoff hub.Backoff

	backoffs int // changes of backoff

	up bool // a link to the peer is open

	in        hub.Cursor
	held      []hub.InRecord // everything durable, refused or not
	inRefused []hub.Refusal
}

type job struct {
	peer wire.HubID
	recs []hub.InRecord
	done func(hub.InboundResult)
}

var errClosed = errors.New("store is closed")

func newStore(self wire.HubID, peers ...wire.HubID) *store {
	return newStoreOf(self, time.Millisecond, 2, peers...)
}

// newStoreOf makes a store that needs commit for each batch and lets depth of them wait.
func newStoreOf(self wire.HubID, commit time.Duration, depth int, peers ...wire.HubID) *store {
	s := &store{
		self: self, commit: commit, jobs: make(chan job, depth), closed: make(chan struct{}),
		lanes: map[wire.HubID]*testLane{},
	}
	copy(s.epochID[:], "epoch of "+self)
	s.setPeers(peers...)
	go s.committer()
	return s
}

func (s *store) setPeers(peers ...wire.HubID) {
	var list []federation.Peer
	for _, p := range peers {
		list = append(list, federation.Peer{Hub: p, Endpoints: []string{string(p)}, Pins: []federation.Pin{federation.Pin(pinFor(p))}})
	}
	s.setTrust(list...)
}

func (s *store) setTrust(list ...federation.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trust = federation.NewTrust(s.self, list)
}

func (s *store) close() { close(s.closed) }

func (s *store) committer() {
	for {
		select {
		case j := <-s.jobs:
			t := time.NewTimer(s.commit)
			select {
			case <-t.C:
				j.done(s.commitJob(j))
			case <-s.closed:
				t.Stop()
				j.done(hub.InboundResult{Err: errClosed})
				return
			}
		case <-s.closed:
			s.rest()
			return
		}
	}
}

func (s *store) rest() {
	for {
		select {
		case j := <-s.jobs:
			j.done(hub.InboundResult{Err: errClosed})
		default:
			return
		}
	}
}

func (s *store) commitJob(j job) hub.InboundResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.laneLocked(j.peer)
	var refused []hub.Refusal
	for i := range j.recs {
		rec := &j.recs[i]
		s.checkLocked(l, j.peer, rec)
		why := rec.Refuse
		if why == "" && s.policy != nil {
			why = s.policy(rec)
		}
		if why != "" {
			refused = append(refused, hub.Refusal{Seq: rec.Origin.LaneSeq, Reason: why})
		}
		l.held = append(l.held, *rec)
		l.in = hub.Cursor{EpochID: rec.Origin.EpochID, Seq: rec.Origin.LaneSeq, Hash: rec.LaneHash}
	}
	l.inRefused = append(l.inRefused, refused...)
	s.waiting -= len(j.recs)
	return hub.InboundResult{Cursor: l.in, Refused: refused}
}

func (s *store) checkLocked(l *testLane, peer wire.HubID, rec *hub.InRecord) {
	o := &rec.Origin
	if o.LaneSeq != l.in.Seq+1 {
		s.faultLocked("record %d of %s committed after %d", o.LaneSeq, peer, l.in.Seq)
	}
	if o.Hub != peer {
		s.faultLocked("record of %s in the lane of %s", o.Hub, peer)
	}
	link := wire.LaneLink{
		Seq: o.LaneSeq, MsgID: o.MsgID, AcceptedUS: o.AcceptedUS, Sender: o.Sender, Principal: o.Principal,
		Target: o.Target, ClientMsgID: o.ClientMsgID, Digest: o.Digest,
	}
	if rec.Refuse == "" && (link.Next(l.in.Hash) != rec.LaneHash || sha256.Sum256(rec.Body) != o.Digest) {
		s.faultLocked("record %d of %s has another hash", o.LaneSeq, peer)
	}
}

func (s *store) faultLocked(format string, args ...any) {
	s.faults = append(s.faults, string(s.self)+": "+fmt.Sprintf(format, args...))
}

func (s *store) laneLocked(peer wire.HubID) *testLane {
	l := s.lanes[peer]
	if l == nil {
		l = &testLane{hashes: make([][32]byte, 1)}
		s.lanes[peer] = l
	}
	return l
}

// with gives access to a lane.
func (s *store) with(peer wire.HubID, fn func(l *testLane)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.laneLocked(peer))
}

// accept takes n messages for the peer and returns the head.
func (s *store) accept(peer wire.HubID, n int) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.laneLocked(peer)
	for range n {
		s.acceptLocked(l, peer, fmt.Appendf(nil, `{"payload":"%s %d"}`, s.self, len(l.out)+1))
	}
	return uint64(len(l.out))
}

func (s *store) acceptLocked(l *testLane, peer wire.HubID, body []byte) {
	seq := uint64(len(l.out) + 1)
	o := hub.Origin{
		Hub: s.self, Epoch: 1, EpochID: s.epochID, LaneSeq: seq, MsgID: 1000 + seq, AcceptedUS: 1_700_000_000_000_000,
		Sender: "demo/alice", Principal: "open", Target: "demo/bob@" + string(peer), ClientMsgID: fmt.Sprint("m", seq),
		Digest: sha256.Sum256(body),
	}
	link := wire.LaneLink{
		Seq: seq, MsgID: o.MsgID, AcceptedUS: o.AcceptedUS, Sender: o.Sender, Principal: o.Principal, Target: o.Target,
		ClientMsgID: o.ClientMsgID, Digest: o.Digest,
	}
	l.out = append(l.out, hub.OutRecord{Seq: seq, Origin: o, Body: body})
	l.hashes = append(l.hashes, link.Next(l.hashes[seq-1]))
}

func (s *store) Self() wire.HubID { return s.self }

func (s *store) LaneEpoch(wire.HubID) hub.LaneEpoch {
	return hub.LaneEpoch{Epoch: hub.Epoch{Number: 1, ID: s.epochID}}
}

func (s *store) Reconciling(wire.HubID) bool { return false }

func (s *store) AdoptLane(context.Context, wire.HubID, hub.LaneEpoch) error { return errClosed }

func (s *store) LaneTaken(context.Context, wire.HubID, hub.Cursor, uint64) error { return nil }

func (s *store) Trust() *federation.Trust {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trust
}

func (s *store) ProfileAgreed(_ context.Context, peer wire.HubID, p federation.Profile) error {
	s.with(peer, func(l *testLane) { l.profile = p })
	return nil
}

func (s *store) LinkOpened(_ context.Context, peer wire.HubID, info hub.LinkInfo) error {
	s.with(peer, func(l *testLane) {
		if l.up || info.Address == "" {
			s.faultLocked("a link to %s at %q opened beside another", peer, info.Address)
		}
		l.up = true
	})
	return nil
}

func (s *store) LinkClosed(peer wire.HubID, sent uint64, _ wire.Reason) {
	s.with(peer, func(l *testLane) {
		if !l.up || sent < l.acked || sent > uint64(len(l.out)) {
			s.faultLocked("a link to %s closed after %d, acknowledged %d of %d", peer, sent, l.acked, len(l.out))
		}
		l.up = false
	})
}

func (s *store) LinkBackoff(_ context.Context, peer wire.HubID, b hub.Backoff) error {
	s.with(peer, func(l *testLane) {
		if l.backoff != b {
			l.backoff = b
			l.backoffs++
		}
	})
	return nil
}

func (s *store) Backoff(peer wire.HubID) (b hub.Backoff) {
	s.with(peer, func(l *testLane) { b = l.backoff })
	return b
}

func (s *store) LaneIn(peer wire.HubID) (c hub.Cursor) {
	s.with(peer, func(l *testLane) { c = l.in })
	return c
}

func (s *store) LaneRefused(peer wire.HubID, after uint64) (out []hub.Refusal) {
	s.with(peer, func(l *testLane) {
		for _, r := range l.inRefused {
			if r.Seq > after {
				out = append(out, r)
			}
		}
	})
	return out
}

func (s *store) LaneOut(peer wire.HubID) (o hub.LaneOut) {
	s.with(peer, func(l *testLane) { o = hub.LaneOut{Head: uint64(len(l.out)), Acked: l.acked} })
	return o
}

func (s *store) LaneHash(peer wire.HubID, seq uint64) (h [32]byte, ok bool) {
	s.with(peer, func(l *testLane) {
		if ok = seq >= l.acked && seq < uint64(len(l.hashes)); ok {
			h = l.hashes[seq]
		}
	})
	return h, ok
}

func (s *store) Outbox(peer wire.HubID, after uint64, maxCount, maxBytes int) (out []hub.OutRecord, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.laneLocked(peer)
	if !l.up {
		s.faultLocked("records for %s are read before the link was noted", peer)
	}
	l.early = l.early || l.profile.Version == 0
	if s.page > 0 {
		maxCount = min(maxCount, s.page)
	}
	size := 0
	for _, r := range l.out[min(after, uint64(len(l.out))):] {
		size += len(r.Body)
		if len(out) == maxCount || len(out) > 0 && size > maxBytes {
			break
		}
		out = append(out, r)
	}
	return out, nil
}

func (s *store) Inbound(ctx context.Context, peer wire.HubID, recs []hub.InRecord, done func(hub.InboundResult)) error {
	s.mu.Lock()
	s.waiting += len(recs)
	s.most = max(s.most, s.waiting)
	s.mu.Unlock()
	select {
	case s.jobs <- job{peer, recs, done}:
		return nil
	case <-ctx.Done():
	case <-s.closed:
	}
	s.mu.Lock()
	s.waiting -= len(recs)
	s.mu.Unlock()
	return errClosed
}

func (s *store) Acked(_ context.Context, peer wire.HubID, seq uint64, refused []hub.Refusal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.laneLocked(peer)
	if seq > uint64(len(l.out)) {
		s.faultLocked("%s acknowledged %d of %d", peer, seq, len(l.out))
	}
	for _, r := range refused {
		if r.Seq > l.acked {
			l.refused = append(l.refused, r)
		}
	}
	l.acked = max(l.acked, seq)
	return nil
}

// check compares both ends of the lane from s to t once all should be settled.
func (s *store) check(t *store) (faults []string) {
	s.mu.Lock()
	out, acked, told := s.laneLocked(t.self).out, s.laneLocked(t.self).acked, s.laneLocked(t.self).refused
	faults = append(faults, s.faults...)
	s.mu.Unlock()
	t.mu.Lock()
	held, refused := t.laneLocked(s.self).held, t.laneLocked(s.self).inRefused
	faults = append(faults, t.faults...)
	t.mu.Unlock()
	complain := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s to %s: ", s.self, t.self)+fmt.Sprintf(format, args...))
	}
	if len(held) != len(out) {
		complain("%d records held of %d accepted", len(held), len(out))
	}
	for i := range min(len(held), len(out)) {
		if string(held[i].Body) != string(out[i].Body) || held[i].Origin != out[i].Origin {
			complain("record %d is %s, was %s", i+1, held[i].Body, out[i].Body)
			break
		}
	}
	if acked != uint64(len(out)) {
		complain("%d acknowledged of %d", acked, len(out))
	}
	if !slices.Equal(refused, told) {
		complain("refused %v, told %v", refused, told)
	}
	return faults
}
