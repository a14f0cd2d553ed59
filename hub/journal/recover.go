package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"syscall"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2"
)

// lockError tells a folder that another process has open from a disk that fails.
func lockError(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) && errno != syscall.EAGAIN && errno != syscall.EACCES {
		return fmt.Errorf("lock: %w", err)
	}
	return &Error{Reason: wire.ReasonStoreLocked, Next: nextLocked, Err: err}
}

// openError names what Pebble refused to open: unless the operating system failed, the files are to blame, whether
// Pebble calls it corruption or not (options it cannot parse, files its manifest needs and that are gone).
func openError(err error, slotSeq uint64) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return corrupt(Range{1, max(slotSeq, 1)}, fmt.Errorf("the store is gone: %w", err))
	case errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return corrupt(Range{}, err)
}

func rewound(r Range, err error) *Error {
	return &Error{Reason: wire.ReasonJournalRewound, Range: r, Next: nextRewound, Err: err}
}

// lastMark is the end of the chain: the last mark, which must lie at the last event.
func (s *Store) lastMark() (position, error) {
	pos := position{chain: genesis(s.hub)}
	key, value, err := s.lastIn(tableChain)
	if err != nil {
		return pos, err
	}
	event, _, err := s.lastIn(tableEvent)
	if err != nil {
		return pos, err
	}
	if key == nil && event == nil {
		return pos, nil
	}
	if SeqOfKey(key) != SeqOfKey(event) || len(value) != sha256.Size {
		return pos, corrupt(Range{min(SeqOfKey(key), SeqOfKey(event)) + 1, max(SeqOfKey(key), SeqOfKey(event))},
			errors.New("the last events and the end of the chain do not meet"))
	}
	pos.seq = SeqOfKey(key)
	copy(pos.chain[:], value)
	return pos, nil
}

// lastIn copies the last row of a table, nil if it is empty.
func (s *Store) lastIn(table byte) (key, value []byte, err error) {
	lo, hi := TableRange(table)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, nil, classify("read journal", err)
	}
	if it.Last() {
		key = append([]byte{}, it.Key()...)
		value = append([]byte{}, it.Value()...)
	}
	return key, value, classify("read journal", errors.Join(it.Error(), it.Close()))
}

// checkSlot refuses a store that ends below the head slot or has another history at it.
func (s *Store) checkSlot(last position) error {
	if last.seq < s.slot.seq {
		return rewound(Range{last.seq + 1, s.slot.seq},
			fmt.Errorf("the store ends at %d, %d was durable", last.seq, s.slot.seq))
	}
	chain, err := s.chainAt(s.slot.seq)
	if err != nil {
		return err
	}
	if chain != s.slot.chain {
		return rewound(Range{s.slot.seq, s.slot.seq}, errors.New("the store holds another history than the one that was durable"))
	}
	return nil
}

// chainAt is the chain hash after seq, from its mark, or rolled forward from the mark before.
func (s *Store) chainAt(seq uint64) (chain [sha256.Size]byte, err error) {
	pos, err := s.markBefore(seq)
	if err != nil || pos.seq == seq {
		return pos.chain, err
	}
	scratch := append([]byte{}, pos.chain[:]...)
	lo, hi := seqRange(tableEvent, pos.seq+1, seq)
	err = s.scan(lo, hi, func(key, value []byte) (bool, error) {
		pos.seq++
		if SeqOfKey(key) != pos.seq {
			return false, corrupt(Range{pos.seq, SeqOfKey(key) - 1}, errors.New("events are missing"))
		}
		scratch = append(scratch[:sha256.Size], value...)
		chain = sha256.Sum256(scratch)
		copy(scratch, chain[:])
		return true, nil
	})
	if err == nil && pos.seq != seq {
		err = corrupt(Range{pos.seq + 1, seq}, errors.New("events are missing"))
	}
	return chain, err
}

// markBefore is the last mark at or below seq, or the genesis.
func (s *Store) markBefore(seq uint64) (position, error) {
	pos := position{chain: genesis(s.hub)}
	hi := []byte{tableChain + 1}
	if seq < math.MaxUint64 {
		hi = seqKey(tableChain, seq+1)
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableChain}, UpperBound: hi})
	if err != nil {
		return pos, classify("read journal", err)
	}
	bad := false
	if it.Last() {
		pos.seq = SeqOfKey(it.Key())
		bad = copy(pos.chain[:], it.Value()) != sha256.Size || len(it.Value()) != sha256.Size
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return pos, classify("read journal", err)
	}
	if bad {
		return pos, corrupt(Range{pos.seq, pos.seq}, errors.New("malformed chain mark"))
	}
	return pos, nil
}
