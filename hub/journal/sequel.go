package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// Sequel reads events and bodies by their numbers, fast where these ascend, as those of a lane do: it stays where it is in
// the tables and needs no cache. It sees what was applied when it was made. It is for one goroutine and must be closed,
// before the store can be.
type Sequel struct {
	store          *Store
	head           uint64 // applied before the iterators were made, so they see it
	events, bodies *pebble.Iterator
	key            []byte
}

// Sequel begins to read.
func (s *Store) Sequel() (*Sequel, error) {
	if !s.users.enter() {
		return nil, ErrClosed
	}
	s.mu.Lock()
	q := &Sequel{store: s, head: s.applied.seq}
	s.mu.Unlock()
	var err error
	if q.events, err = s.tableIter(tableEvent); err == nil {
		q.bodies, err = s.tableIter(tableBody)
	}
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

// tableIter is an iterator over one table whose keys are numbers.
func (s *Store) tableIter(table byte) (*pebble.Iterator, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{table}, UpperBound: []byte{table + 1}})
	if err != nil {
		return nil, classify("read journal", err)
	}
	return it, nil
}

// Close ends the reading.
func (q *Sequel) Close() (err error) {
	defer q.store.users.leave()
	for _, it := range []*pebble.Iterator{q.events, q.bodies} {
		if it != nil {
			err = errors.Join(err, classify("read journal", it.Close()))
		}
	}
	return err
}

// at is the value of a row; it is valid until the next call.
func (q *Sequel) at(it *pebble.Iterator, table byte, seq uint64) (value []byte, ok bool, err error) {
	q.key = appendSeqKey(q.key[:0], table, seq)
	if !it.SeekGE(q.key) || !bytes.Equal(it.Key(), q.key) {
		return nil, false, classify("read journal", it.Error())
	}
	value, err = it.ValueAndErr()
	return value, err == nil, classify("read journal", err)
}

// Event is Store.Event.
func (q *Sequel) Event(seq uint64) (ev Event, ok bool, err error) {
	header, ok, err := q.at(q.events, tableEvent, seq)
	if err != nil {
		return Event{}, false, err
	}
	switch {
	case !ok && seq > q.head:
		return Event{}, false, nil
	case !ok:
		return Event{}, false, q.store.notMissing(seq)
	}
	ev, err = ParseHeader(bytes.Clone(header))
	if err != nil || ev.Seq != seq {
		return Event{}, false, corrupt(Range{seq, seq}, errHeader)
	}
	return ev, true, nil
}

// Body is Store.Body of an event that Event gave.
func (q *Sequel) Body(ev *Event) (body []byte, ok bool, err error) {
	if !ev.HasBody {
		return nil, false, nil
	}
	body, ok, err = q.at(q.bodies, tableBody, ev.Seq)
	if err != nil {
		return nil, false, err
	}
	if !ok {
		return nil, false, q.store.bodyGone(ev)
	}
	if sha256.Sum256(body) != ev.Digest {
		return nil, false, corrupt(Range{ev.Seq, ev.Seq}, errors.New("the body does not match its digest"))
	}
	return bytes.Clone(body), true, nil
}
