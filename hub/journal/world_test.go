package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const testHub = "acme.example"

// world is the naive twin of a store: every batch that was applied, kept in plain maps.
type world struct {
	rng     *rand.Rand
	states  []worldState // states[k] = after k batches
	told    atomic.Int64 // how many batches' Wait returned nil
	rows    []string     // keys in use, for deletes
	inLane  uint64
	maxBody int // bytes
}

type worldState struct {
	end    position
	batch  []Event // of the last batch
	rows   map[string]string
	bodies map[uint64]string
	purged map[uint64]bool
	newest uint64 // snapshot
	snaps  map[uint64]bool
}

func newWorld(seed uint64) *world {
	return &world{
		rng: rand.New(rand.NewPCG(seed, 1)), maxBody: 600,
		states: []worldState{{
			end: position{chain: genesis(testHub)}, rows: map[string]string{}, bodies: map[uint64]string{},
			purged: map[uint64]bool{}, snaps: map[uint64]bool{},
		}},
	}
}

func (w *world) last() *worldState { return &w.states[len(w.states)-1] }

// next makes a random batch and its twin.
func (w *world) next() *Batch {
	old := w.last()
	st := worldState{
		end: old.end, rows: maps.Clone(old.rows), bodies: maps.Clone(old.bodies), purged: maps.Clone(old.purged),
		newest: old.newest, snaps: maps.Clone(old.snaps),
	}
	b := NewBatch()
	for range 1 + w.rng.IntN(4) {
		ev := w.event(st.end.seq+1, &st)
		b.Append(ev)
		st.batch = append(st.batch, completed(ev))
		st.end = chained(st.end, completed(ev))
	}
	for range w.rng.IntN(5) {
		w.change(b, &st)
	}
	w.states = append(w.states, st)
	return b
}

func completed(ev Event) Event {
	if err := admitEvent(&ev); err != nil {
		panic(err)
	}
	return ev
}

func chained(at position, ev Event) position {
	header := AppendHeader(slices.Clone(at.chain[:]), &ev)
	return position{ev.Seq, sha256.Sum256(header)}
}

func (w *world) event(seq uint64, st *worldState) Event {
	now := int64(seq) * 1000
	switch pick := w.rng.IntN(20); {
	case seq == 1:
		return NewEvent(seq, now, EpochStarted{HubID: testHub, Number: 1, ID: [16]byte{1}})
	case pick < 10:
		return w.withBody(NewEvent(seq, now, ChatAccepted{MsgID: seq, Sender: "p/a", Target: "p/b", HasTarget: true, Principal: "open"}), st)
	case pick < 13:
		w.inLane++
		o := Origin{Hub: "far.example", Epoch: 3, EpochID: [16]byte{9}, LaneSeq: w.inLane, MsgID: 5, Sender: "q/x"}
		return w.withBody(NewEvent(seq, now, ChatAccepted{MsgID: seq, Sender: "q/x@far.example", Origin: &o}), st)
	case pick < 15:
		return NewEvent(seq, now, ReceiptSettled{ChatSeq: seq - 1, Sender: "p/a", State: ReceiptDeferred, Recipients: []string{"p/b", ""}})
	case pick < 16:
		delete(st.bodies, st.newest)
		st.snaps[seq], st.newest = true, seq
		return w.withBody(NewEvent(seq, now, SnapshotTaken{UpTo: seq - 1}), st)
	case pick < 17:
		if ev, ok := w.purge(seq, now, st); ok {
			return ev
		}
	}
	return NewEvent(seq, now, WatermarkRaised{Identity: "p/b", Seq: seq})
}

func (w *world) withBody(ev Event, st *worldState) Event {
	body := make([]byte, w.rng.IntN(w.maxBody))
	for i := range body {
		body[i] = "abcdefghijklmnop"[w.rng.IntN(16)]
	}
	st.bodies[ev.Seq] = string(body)
	return ev.WithBody(body, [32]byte{})
}

// purge picks a chat of an earlier batch that still has its body.
func (w *world) purge(seq uint64, now int64, st *worldState) (Event, bool) {
	for _, n := range slices.Sorted(maps.Keys(w.last().bodies)) {
		if st.snaps[n] {
			continue
		}
		body, ok := st.bodies[n]
		if !ok {
			continue
		}
		delete(st.bodies, n)
		st.purged[n] = true
		return NewEvent(seq, now, BodyPurged{Seq: n, Digest: sha256.Sum256([]byte(body)), By: "op", Reason: "asked"}), true
	}
	return Event{}, false
}

// change is a random table change.
func (w *world) change(b *Batch, st *worldState) {
	seq := st.end.seq
	switch pick := w.rng.IntN(10); {
	case pick < 6:
		key := MailboxKey(fmt.Sprintf("part%d", w.rng.IntN(4)), seq)
		b.Put(key, []byte{byte(seq)})
		st.rows[string(key)] = string([]byte{byte(seq)})
		w.rows = append(w.rows, string(key))
	case pick < 7:
		key := WatermarkKey("p/b")
		b.Put(key, SeqValue(seq))
		st.rows[string(key)] = string(SeqValue(seq))
	case pick < 9 && len(w.rows) > 0:
		key := w.rows[w.rng.IntN(len(w.rows))]
		b.Delete([]byte(key))
		delete(st.rows, key)
	default:
		lo, hi := MailboxRange(fmt.Sprintf("part%d", w.rng.IntN(4)), 0, w.rng.Uint64N(seq+1))
		b.DeleteRange(lo, hi)
		for key := range st.rows {
			if key >= string(lo) && key < string(hi) {
				delete(st.rows, key)
			}
		}
	}
}

// run applies n batches with up to three of them waiting, and returns the first error.
func (w *world) run(s *Store, n int) error {
	var waiting []*Pending
	settle := func(keep int) error {
		for len(waiting) > keep {
			if err := waiting[0].Wait(); err != nil {
				return err
			}
			w.told.Add(1)
			waiting = waiting[1:]
		}
		return nil
	}
	for range n {
		p, err := s.Apply(w.next())
		if err != nil {
			return errors.Join(err, settle(0))
		}
		waiting = append(waiting, p)
		if err := settle(w.rng.IntN(4)); err != nil {
			return err
		}
	}
	return settle(0)
}

// loss is a difference that no error announced.
type loss struct{ text string }

func (l *loss) Error() string { return "silent: " + l.text }

func lost(format string, args ...any) error { return &loss{fmt.Sprintf(format, args...)} }

// holds checks that s is exactly one of the twin's states, and none before the told one.
func (w *world) holds(s *Store, told int) error {
	seq, chain := s.Head()
	k, ok := slices.BinarySearchFunc(w.states, seq, func(st worldState, seq uint64) int { return int(st.end.seq) - int(seq) })
	if !ok || w.states[k].end.chain != chain {
		return lost("head %d is the end of no batch", seq)
	}
	if k < told {
		return lost("%d batches were told, %d are there", told, k)
	}
	if err := w.holdsEvents(s, k); err != nil {
		return err
	}
	return w.holdsTables(s, &w.states[k])
}

func (w *world) holdsEvents(s *Store, k int) error {
	var want []Event
	for _, st := range w.states[:k+1] {
		want = append(want, st.batch...)
	}
	st := &w.states[k]
	err := s.Replay(0, func(ev Event) error {
		if len(want) == 0 {
			return lost("event %d is one too many", ev.Seq)
		}
		if !bytes.Equal(AppendHeader(nil, &ev), AppendHeader(nil, &want[0])) {
			return lost("event %d differs", ev.Seq)
		}
		want = want[1:]
		body, ok, err := s.Body(ev.Seq)
		if err != nil {
			return err
		}
		if wantBody, has := st.bodies[ev.Seq]; ok != has || string(body) != wantBody {
			return lost("body %d: there %v, wanted %v", ev.Seq, ok, has)
		}
		return nil
	})
	if err == nil && len(want) > 0 {
		err = lost("%d events are missing", len(want))
	}
	return err
}

func (w *world) holdsTables(s *Store, st *worldState) error {
	upTo, _, ok, err := s.LatestSnapshot()
	if err != nil {
		return err
	}
	if ok != (st.newest != 0) || (ok && upTo != st.newest-1) {
		return lost("snapshot up to %d (%v), wanted %d", upTo, ok, st.newest)
	}
	left := maps.Clone(st.rows)
	for _, table := range []byte{TableMailbox, TableWatermark} {
		lo, hi := TableRange(table)
		err := s.Scan(lo, hi, func(key, value []byte) (bool, error) {
			if want, ok := left[string(key)]; !ok || want != string(value) {
				return false, lost("row %q differs", key)
			}
			delete(left, string(key))
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return lost("%d rows are missing", len(left))
	}
	return nil
}

// smallOptions make a store that flushes and compacts after a few dozen batches.
func smallOptions(fs vfs.FS) Options {
	return Options{
		FS: fs, HubID: testHub, MemTableBytes: 64 << 10, CacheBytes: 1 << 20,
		testing: testKnobs{headEvery: time.Millisecond},
	}
}

// reopen opens fs, checks it against the twin and closes it.
func (w *world) reopen(o Options, told int) error {
	s, err := Open("j", o)
	if err != nil {
		return err
	}
	return errors.Join(w.holds(s, told), s.Close())
}

// seedOf is the seed of a random test; SEED repeats one.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if v := strings.TrimSpace(os.Getenv("SEED")); v != "" {
		if _, err := fmt.Sscan(v, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat with SEED=%d go test -run '^%s$' ./hub/journal", seed, t.Name())
	return seed
}
