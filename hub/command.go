package hub

import (
	"fleetrelay/hub/journal"
	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// command is one typed wish handed to the core. decide is pure: it reads the
// view and writes the draft, nothing else; a panic in it quarantines the command
// and leaves no trace of the draft.
type command interface {
	decide(v *view, d *draft)
	// moot says that whoever asked has been told to go: the command is dropped
	// undecided.
	moot() bool
	// size is the weight in bytes that counts towards a turn.
	size() int
	// evidence is what a quarantined command leaves behind: where it came from,
	// what it was, and its bytes.
	evidence() evidence
	// quarantined answers whoever waits for a command whose decision panicked.
	quarantined(v *view, d *draft)
}

// evidence describes a command to an operator who looks into the quarantine.
type evidence struct {
	source  string
	command string
	raw     []byte
}

// draft is what one decision wants: facts to be journalled, changes of the
// roster that are not durable, and what to tell once the facts are synced.
type draft struct {
	next    uint64 // sequence the next event gets
	events  []fact
	raises  []identity // watermarks to lift; the turn coalesces them
	said    []saying   // verdicts on chats of other hubs; the turn coalesces them
	changes []change
	effects []effect
}

// fact is one event of a draft with its typed record beside it, so that apply
// needs no decoding on the live path.
type fact struct {
	event  journal.Event
	record journal.Record
}

// change alters the roster, or what a command keeps of its own between decisions:
// sockets, names, presence, a batch's result. It is lost with the process, like
// what it describes. Changes of a draft are made in order, before the next
// command is decided.
type change interface {
	change(r *roster)
}

// effect is something to tell, released after the turn's sync. Exactly one of
// its forms is set: an item for one session, an item for several, or a function.
// None of them may block.
type effect struct {
	to   *session
	all  []*session
	item socket.Item
	run  func()
	// quiet says that run tells nothing a restart could take back, so that it need
	// not wait for a sync.
	quiet bool
}

// add appends one event and returns its sequence.
func (d *draft) add(nowUS int64, rec journal.Record) uint64 {
	return d.append(fact{event: journal.Event{TimeUS: nowUS}, record: rec})
}

// addBody appends one event with a body and the body's digest.
func (d *draft) addBody(nowUS int64, rec journal.Record, body []byte, digest [32]byte) uint64 {
	return d.append(fact{
		event:  journal.Event{TimeUS: nowUS, Body: body, HasBody: true, Digest: digest},
		record: rec,
	})
}

func (d *draft) append(f fact) uint64 {
	f.event.Seq, f.event.Kind = d.next, f.record.Kind()
	d.next++
	d.events = append(d.events, f)
	return f.event.Seq
}

// raise lifts the watermark of one identity; it never falls. A turn writes one
// event per identity however often it was raised.
func (d *draft) raise(name string, seq uint64) {
	d.raises = append(d.raises, identity{name: name, watermark: seq})
}

func (d *draft) alter(c change) { d.changes = append(d.changes, c) }

// tell queues one item for one session. Without either there is nothing to tell.
func (d *draft) tell(s *session, it socket.Item) {
	if s != nil && it != nil {
		d.effects = append(d.effects, effect{to: s, item: it})
	}
}

// tellAll queues one shared item for several sessions. The slice must not change
// afterwards.
func (d *draft) tellAll(to []*session, it socket.Item) {
	if len(to) > 0 {
		d.effects = append(d.effects, effect{all: to, item: it})
	}
}

// then runs fn after the sync. fn must not block.
func (d *draft) then(fn func()) { d.effects = append(d.effects, effect{run: fn}) }

// closeAfter closes a socket once everything queued before is on its way. What
// the agent has sent meanwhile is not decided any more.
func (d *draft) closeAfter(s *session, reason wire.Reason) {
	d.alter(ended{s: s})
	d.then(func() { s.sock.Close(reason) })
}

// answer hands a reply of capacity 1 to whoever waits for it, after the sync.
func (d *draft) answer(reply chan<- error, err error) { d.then(func() { reply <- err }) }

// settles says whether this draft ends the receipt of a chat already.
func (d *draft) settles(chatSeq uint64) bool {
	for i := range d.said {
		if d.said[i].verdict.ChatSeq == chatSeq {
			return true
		}
	}
	for i := range d.events {
		if r, ok := d.events[i].record.(journal.ReceiptSettled); ok && r.ChatSeq == chatSeq {
			return true
		}
	}
	return false
}

// quietly is answer for an outcome that may be lost and found again.
func (d *draft) quietly(reply chan<- error) {
	d.effects = append(d.effects, effect{run: func() { reply <- nil }, quiet: true})
}

// refused counts a refusal and lets the operator know, once it is told.
func (d *draft) refused(v *view, reason wire.Reason, what, who string) {
	refusals := v.config.refusals
	d.then(func() { refusals.note(reason, what, who) })
}

// reset empties the draft for the next command, keeping its memory.
func (d *draft) reset(next uint64) {
	d.next = next
	d.events = d.events[:0]
	d.raises = d.raises[:0]
	d.said = d.said[:0]
	d.changes = d.changes[:0]
	d.effects = d.effects[:0]
}
