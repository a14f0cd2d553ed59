package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"fleetrelay/hub/wire"
)

// Replay calls fn for every event after the given seq, in order and without bodies (see Body). It checks a whole
// batch (sequence, chain, kinds, formats, owner) before it hands over any of it, so that nothing of a batch that
// does not hold together is projected. Attrs are only valid during the call. An unknown kind whose writer marked it
// ignorable is skipped.
func (s *Store) Replay(after uint64, fn func(Event) error) error {
	if !s.users.enter() {
		return ErrClosed
	}
	defer s.users.leave()
	chain, err := s.chainAt(after)
	if err != nil {
		return err
	}
	s.mu.Lock()
	end := s.applied.seq
	s.mu.Unlock()
	r := replay{store: s, at: position{after, chain}, fn: fn}
	lo, hi := seqRange(tableEvent, after+1, end)
	if after >= end {
		return nil
	}
	if err := s.scan(lo, hi, r.take); err != nil {
		return err
	}
	if len(r.batch) > 0 || r.at.seq != end {
		return corrupt(Range{r.at.seq + 1 - uint64(len(r.batch)), end}, errors.New("the last batch is not whole"))
	}
	return nil
}

// replay collects one batch at a time.
type replay struct {
	store *Store
	at    position
	mark  uint64 // where the current batch ends
	want  [sha256.Size]byte
	batch []Event
	arena []byte // headers of the batch; reallocation leaves the events' old bytes valid
	hash  []byte
	fn    func(Event) error
}

// take adds one event to the batch and hands it over if it was the last.
func (r *replay) take(key, header []byte) (more bool, err error) {
	seq := SeqOfKey(key)
	if seq != r.at.seq+1 {
		return false, corrupt(Range{r.at.seq + 1, seq - 1}, errors.New("events are missing"))
	}
	if len(r.batch) == 0 {
		if err := r.nextMark(seq); err != nil {
			return false, err
		}
	}
	start := len(r.arena)
	r.arena = append(r.arena, header...)
	ev, err := ParseHeader(r.arena[start:])
	if err != nil || ev.Seq != seq {
		return false, corrupt(Range{seq, seq}, errHeader)
	}
	r.hash = append(append(r.hash[:0], r.at.chain[:]...), header...)
	r.at = position{seq, sha256.Sum256(r.hash)}
	r.batch = append(r.batch, ev)
	if seq != r.mark {
		return true, nil
	}
	return true, r.hand()
}

// nextMark finds the end of the batch that seq begins (or lies in, when replay starts inside a batch).
func (r *replay) nextMark(seq uint64) error {
	found := false
	lo, _ := seqRange(tableChain, seq, seq)
	err := r.store.scan(lo, []byte{tableChain + 1}, func(key, value []byte) (bool, error) {
		r.mark, found = SeqOfKey(key), copy(r.want[:], value) == sha256.Size && len(value) == sha256.Size
		return false, nil
	})
	if err == nil && !found {
		err = corrupt(Range{seq, seqEnd}, errors.New("the end of a batch is missing"))
	}
	return err
}

// hand gives over a batch whose chain ends where its mark says.
func (r *replay) hand() error {
	first := r.batch[0].Seq
	if r.at.chain != r.want {
		return corrupt(Range{first, r.at.seq}, errors.New("the chain is broken"))
	}
	known := r.batch[:0]
	for _, ev := range r.batch {
		skip, err := r.store.readable(&ev)
		if err != nil {
			return err
		}
		if !skip {
			known = append(known, ev)
		}
	}
	for i := range known {
		if err := r.fn(known[i]); err != nil {
			return err
		}
	}
	r.batch, r.arena = r.batch[:0], r.arena[:0]
	return nil
}

// readable refuses an event that this build does not understand or that belongs to another hub.
func (s *Store) readable(ev *Event) (skip bool, err error) {
	rec, err := ev.Record()
	if errors.Is(err, ErrUnknownKind) {
		if _, known := ev.Kind.info(); !known && ev.Format&FormatIgnorable != 0 {
			return true, nil
		}
		return false, &Error{
			Reason: wire.ReasonJournalNewerFormat, Range: Range{ev.Seq, ev.Seq}, Err: err,
			Next: "start the newer build that wrote this event again",
		}
	}
	if err != nil {
		return false, corrupt(Range{ev.Seq, ev.Seq}, err)
	}
	if epoch, ok := rec.(EpochStarted); ok && epoch.HubID != s.hub {
		return false, &Error{
			Reason: wire.ReasonWrongHub, Range: Range{ev.Seq, ev.Seq}, Next: "this journal was put together from two hubs' folders: restore a whole copy",
			Err: fmt.Errorf("an epoch of hub %q in the journal of %q", epoch.HubID, s.hub),
		}
	}
	return false, nil
}
