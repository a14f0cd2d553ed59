package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Get is the value of a table row; the caller owns it. ok is false when there is no such row. Damage is an error
// with journal_corrupt, never ok = false.
func (s *Store) Get(key []byte) (value []byte, ok bool, err error) {
	if !s.users.enter() {
		return nil, false, ErrClosed
	}
	defer s.users.leave()
	return s.get(key)
}

func (s *Store) get(key []byte) (value []byte, ok bool, err error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, classify("read journal", err)
	}
	value = append(make([]byte, 0, len(v)), v...)
	return value, true, classify("read journal", closer.Close())
}

// Scan calls fn for every row lo <= key < hi in order, until it returns false or an error. Key and value are only
// valid during the call. Rows written meanwhile are not seen.
func (s *Store) Scan(lo, hi []byte, fn func(key, value []byte) (bool, error)) error {
	if !s.users.enter() {
		return ErrClosed
	}
	defer s.users.leave()
	return s.scan(lo, hi, fn)
}

func (s *Store) scan(lo, hi []byte, fn func(key, value []byte) (bool, error)) (err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return classify("read journal", err)
	}
	defer func() { err = errors.Join(err, classify("read journal", it.Close())) }()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return classify("read journal", err)
		}
		if more, err := fn(it.Key(), value); err != nil || !more {
			return err
		}
	}
	return classify("read journal", it.Error())
}

// Event is one event without its body; ok is false when there is none yet.
func (s *Store) Event(seq uint64) (ev Event, ok bool, err error) {
	if !s.users.enter() {
		return Event{}, false, ErrClosed
	}
	defer s.users.leave()
	return s.event(seq)
}

func (s *Store) event(seq uint64) (ev Event, ok bool, err error) {
	header, ok, err := s.get(seqKey(tableEvent, seq))
	if err != nil {
		return Event{}, false, err
	}
	if !ok {
		return Event{}, false, s.notMissing(seq)
	}
	ev, err = ParseHeader(header)
	if err != nil || ev.Seq != seq {
		return Event{}, false, corrupt(Range{seq, seq}, errHeader)
	}
	return ev, true, nil
}

// notMissing tells an event that is not there yet from one that is gone.
func (s *Store) notMissing(seq uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq == 0 || seq > s.applied.seq {
		return nil
	}
	return corrupt(Range{seq, seq}, errors.New("the event is missing"))
}

// Body is the body of an event, checked against its digest; the caller owns it. ok is false when the event has
// none, when it was purged, and for a snapshot that a newer one replaced.
func (s *Store) Body(seq uint64) (body []byte, ok bool, err error) {
	if !s.users.enter() {
		return nil, false, ErrClosed
	}
	defer s.users.leave()
	ev, ok, err := s.event(seq)
	if err != nil || !ok || !ev.HasBody {
		return nil, false, err
	}
	return s.body(&ev)
}

func (s *Store) body(ev *Event) (body []byte, ok bool, err error) {
	body, ok, err = s.get(seqKey(tableBody, ev.Seq))
	if err != nil {
		return nil, false, err
	}
	if !ok {
		return nil, false, s.bodyGone(ev)
	}
	if sha256.Sum256(body) != ev.Digest {
		return nil, false, corrupt(Range{ev.Seq, ev.Seq}, errors.New("the body does not match its digest"))
	}
	return body, true, nil
}

// bodyGone is nil when there is a reason why a body is not there.
func (s *Store) bodyGone(ev *Event) error {
	_, purged, err := s.get(seqKey(tablePurged, ev.Seq))
	if err != nil || purged {
		return err
	}
	if ev.Kind == KindSnapshotTaken {
		newest, err := s.snapshotSeq()
		if err != nil || newest > ev.Seq {
			return err
		}
	}
	return corrupt(Range{ev.Seq, ev.Seq}, errors.New("the body is missing"))
}

// LatestSnapshot is the newest SnapshotTaken: the hot state after the event upTo. ok is false when there is none.
func (s *Store) LatestSnapshot() (upTo uint64, state []byte, ok bool, err error) {
	if !s.users.enter() {
		return 0, nil, false, ErrClosed
	}
	defer s.users.leave()
	seq, err := s.snapshotSeq()
	if err != nil || seq == 0 {
		return 0, nil, false, err
	}
	ev, ok, err := s.event(seq)
	if err != nil {
		return 0, nil, false, err
	}
	if !ok || ev.Kind != KindSnapshotTaken {
		return 0, nil, false, corrupt(Range{seq, seq}, errors.New("the snapshot is missing"))
	}
	rec, err := ParseSnapshotTaken(ev.Attrs)
	if err != nil {
		return 0, nil, false, corrupt(Range{seq, seq}, err)
	}
	state, ok, err = s.body(&ev)
	return rec.UpTo, state, ok, err
}

// snapshotSeq is the event of the newest snapshot, 0 when there is none.
func (s *Store) snapshotSeq() (uint64, error) {
	v, ok, err := s.get([]byte{tableSnapshot})
	if err != nil || !ok {
		return 0, err
	}
	seq, ok := ParseSeqValue(v)
	if !ok {
		return 0, corrupt(Range{}, fmt.Errorf("malformed snapshot pointer of %d bytes", len(v)))
	}
	return seq, nil
}
