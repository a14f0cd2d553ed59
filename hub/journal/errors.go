package journal

import (
	"errors"
	"fmt"
	"math"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2"
)

// Range is a run of event seqs, both ends included. The zero Range is none; To = the greatest number is an open end.
type Range struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

func (r Range) String() string {
	switch {
	case r == Range{}:
		return "none"
	case r.To == math.MaxUint64:
		return fmt.Sprintf("everything from event %d on", r.From)
	case r.From == r.To:
		return fmt.Sprintf("event %d", r.From)
	}
	return fmt.Sprintf("events %d to %d", r.From, r.To)
}

// Error is every failure of this package that its caller must act on. Reason decides; the text is for people.
type Error struct {
	// Reason is one of journal_failed, journal_rewound, journal_corrupt, journal_newer_format, wrong_hub,
	// store_locked, store_missing.
	Reason wire.Reason
	// Range is the events that are missing or damaged, where that is known.
	Range Range
	// Next is the operator's next step, one sentence or command.
	Next string
	// Err is the cause, for the operator's log.
	Err error
}

func (e *Error) Error() string {
	text := string(e.Reason)
	if e.Range != (Range{}) {
		text += " (" + e.Range.String() + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf is the reason of an error of this package, "" for any other.
func ReasonOf(err error) wire.Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// ErrClosed is what a closed store answers.
var ErrClosed = errors.New("journal: store is closed")

const (
	nextVerify  = "stop the node, see with fleet journal verify what is damaged, keep the folder and restore it from a backup"
	nextRewound = "the store lost events it had made durable: keep the folder, do not start from it, and restore the newer journal"
	nextFailed  = "check the disk (space, errors in the system log), then start the node again: nothing that was told is lost"
	nextLocked  = "another process has this folder open: stop it first"
	nextMissing = "check the name of the folder, or make a node there with fleet init"
)

func corrupt(r Range, err error) *Error {
	return &Error{Reason: wire.ReasonJournalCorrupt, Range: r, Next: nextVerify, Err: err}
}

func failed(err error) *Error {
	return &Error{Reason: wire.ReasonJournalFailed, Next: nextFailed, Err: err}
}

// classify turns an error of Pebble or the file system into one with a reason: corruption apart from failure.
func classify(step string, err error) error {
	var typed *Error
	if err == nil || errors.As(err, &typed) || errors.Is(err, ErrClosed) {
		return err
	}
	err = fmt.Errorf("%s: %w", step, err)
	if pebble.IsCorruptionError(err) {
		return corrupt(Range{}, err)
	}
	return failed(err)
}
