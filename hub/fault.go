package hub

import (
	"bytes"
	"slices"
	"time"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// Faults lists the planted faults of the testing__fault door: each makes a node
// break one promise, so that a checker can be seen to notice.
func Faults() []string {
	return []string{"loss", "double", "swap", "altered", faultEarly, "panic", "receipt_loss", "receipt_twice", "receipt_false"}
}

// fault is a planted fault. A nil fault does nothing.
type fault struct {
	name string
	seen int
	held *wire.ChatFrame
}

// faultEvery is how often a planted fault strikes.
const faultEvery = 37

func newFault(name string) *fault {
	if name == "" {
		return nil
	}
	return &fault{name: name}
}

func (f *fault) strikes(name string) bool {
	if f == nil || f.name != name {
		return false
	}
	f.seen++
	return f.seen%faultEvery == 0
}

// loses says that an accepted chat is not to reach its lane.
func (f *fault) loses() bool { return f.strikes("loss") }

// doubles says that one record is to be accepted twice.
func (f *fault) doubles() bool { return f.strikes("double") }

// unchecked lets a node start on what "double" has journalled.
func (f *fault) unchecked() bool { return f != nil && f.name == "double" }

// explode panics on the marked body of the "panic" fault.
func (f *fault) explode(body []byte) {
	if f != nil && f.name == "panic" && bytes.Contains(body, []byte("testing__panic")) {
		panic("testing__fault panic")
	}
}

// onTheWay is what becomes of a chat between acceptance and its recipients:
// itself; with "altered" another body; with "swap" nothing now and two frames in
// the wrong order with the next.
func (f *fault) onTheWay(c *wire.ChatFrame) []*wire.ChatFrame {
	switch {
	case f.strikes("altered"):
		changed := *c
		changed.Body = slices.Clone(c.Body)
		// A letter of the payload: of the other members no reader need look at all.
		_, payload, _ := bytes.Cut(changed.Body, []byte(`"payload":"`))
		if i := bytes.IndexAny(payload, "abcdefghijklmnopqrstuvwxyz"); i >= 0 {
			payload[i] ^= 1
		}
		return []*wire.ChatFrame{&changed}
	case f != nil && f.held != nil && f.held.Target == c.Target && f.held.Sender == c.Sender:
		held := f.held
		f.held = nil
		return []*wire.ChatFrame{c, held}
	case f != nil && f.held == nil && f.strikes("swap"):
		f.held = c
		return nil
	}
	return []*wire.ChatFrame{c}
}

// tells is what a sender is told by a far verdict: what it should be; with
// "receipt_loss" nothing; with "receipt_false" that a chat which waits is delivered.
func (f *fault) tells(state journal.ReceiptState) journal.ReceiptState {
	switch {
	case f.strikes("receipt_loss"):
		return 0
	case state == journal.ReceiptPending && f.strikes("receipt_false"):
		return journal.ReceiptDelivered
	}
	return state
}

// tellsTwice says that a receipt is to be told again with another content.
func (f *fault) tellsTwice() bool { return f.strikes("receipt_twice") }

// faultEarly tells before the sync.
const faultEarly = "early_effect"

// earlyDelay is how long the "early_effect" fault keeps a told turn from the
// disk.
const earlyDelay = 30 * time.Millisecond
