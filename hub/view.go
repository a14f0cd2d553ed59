package hub

import (
	"encoding/binary"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// view is what a decision may read: the hot state with every event of the turn
// already applied, the roster, and behind them the journal with the turns that
// are decided but not yet in Pebble.
type view struct {
	st    *state
	ro    roster
	store *journal.Store
	// published is only handed on to effects: decide itself never reads it.
	published *published
	now       int64 // Unix microseconds, one reading per turn
	config    config

	recent  recentChats
	raised  map[string]uint64       // watermarks raised in this turn, one event each at its end
	said    map[wire.HubID]*sayings // verdicts of this turn, made records at its end
	current flight                  // what this turn adds
	flights []flight                // turns not yet applied to Pebble, oldest first
}

// flight is one turn on its way to Pebble: the rows of it that decide may look
// up. Everything else that decide needs is hot.
type flight struct {
	applied    <-chan struct{}
	watermarks map[string]uint64
	purged     map[uint64]bool                  // bodies that are gone with it
	chats      map[uint64]*journal.ChatAccepted // those too large for recent
}

func (f *flight) empty() bool { return len(f.watermarks)+len(f.purged)+len(f.chats) == 0 }

// config is what decisions depend on and what never changes while running.
type config struct {
	self            wire.HubID
	version         string
	configEpoch     string
	privateDirected *bool
	frameBytes      int
	limits          Limits
	fault           *fault
	refusals        *refusals
	callers         *callers      // for effects only, like published
	counting        chan struct{} // capacity 1: held while mail is counted
}

// begin starts a turn: rows that have reached Pebble are no longer needed here.
func (v *view) begin(now int64) {
	v.now = now
	for len(v.flights) > 0 && isClosed(v.flights[0].applied) {
		v.flights = v.flights[1:]
	}
	v.raised, v.said, v.current = nil, nil, flight{}
}

func (v *view) endTurn(t *turn) {
	if v.current.applied, v.current.watermarks = t.applied, v.raised; !v.current.empty() {
		v.flights = append(v.flights, v.current)
	}
}

// watermark is the mailbox position of one identity.
func (v *view) watermark(name string) uint64 {
	if w, ok := v.raised[name]; ok {
		return w
	}
	if w, ok := v.st.known.get(name); ok && w > 0 {
		return w
	}
	for i := len(v.flights) - 1; i >= 0; i-- {
		if w, ok := v.flights[i].watermarks[name]; ok {
			return w
		}
	}
	row, ok, err := v.store.Get(journal.WatermarkKey(name))
	if err != nil {
		panic(err) // a store that cannot be read has reported itself; no decision rests on it
	}
	if !ok || len(row) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(row)
}

// raise notes a lifted watermark until the end of the turn.
func (v *view) raise(name string, seq uint64) {
	if v.raised == nil {
		v.raised = map[string]uint64{}
	}
	v.raised[name] = max(seq, v.raised[name])
}

// chat finds an accepted chat by its sequence.
func (v *view) chat(seq uint64) (*journal.ChatAccepted, bool) {
	if r, ok := v.recent.get(seq); ok {
		return r, r != nil
	}
	if r := v.inFlight(seq); r != nil {
		return r, true
	}
	ev, ok, err := v.store.Event(seq)
	if err != nil {
		panic(err)
	}
	if !ok || ev.Kind != journal.KindChatAccepted {
		return nil, false
	}
	rec, err := ev.Record()
	if err != nil {
		panic(err)
	}
	r := rec.(journal.ChatAccepted)
	return &r, true
}

// largeTarget is the target from which a chat is not kept in recent: that many of
// them would be much memory.
const largeTarget = 1 << 10

// inFlight finds a large chat that may not be in Pebble yet.
func (v *view) inFlight(seq uint64) *journal.ChatAccepted {
	if r := v.current.chats[seq]; r != nil {
		return r
	}
	for i := range v.flights {
		if r := v.flights[i].chats[seq]; r != nil {
			return r
		}
	}
	return nil
}

// isPurged says whether the body of an event is gone, in Pebble or on the way
// there.
func (v *view) isPurged(seq uint64) (bool, error) {
	if v.current.purged[seq] {
		return true, nil
	}
	for i := range v.flights {
		if v.flights[i].purged[seq] {
			return true, nil
		}
	}
	_, held, err := v.store.Body(seq)
	return !held, err
}

// remember keeps a decided fact where decisions find it before Pebble does.
func (v *view) remember(f *fact) {
	switch r := f.record.(type) {
	case journal.ChatAccepted:
		if len(r.Target) < largeTarget {
			v.recent.put(f.event.Seq, &r)
			return
		}
		if v.current.chats == nil {
			v.current.chats = map[uint64]*journal.ChatAccepted{}
		}
		v.current.chats[f.event.Seq] = &r
		return
	case journal.BodyPurged:
		if v.current.purged == nil {
			v.current.purged = map[uint64]bool{}
		}
		v.current.purged[r.Seq] = true
	}
	v.recent.put(f.event.Seq, nil)
}

// privateDirected says whether directed chats reach only whom they name: by
// configuration, else once there has been a peer. A revocation opens nothing.
func (v *view) privateDirected() bool {
	if v.config.privateDirected != nil {
		return *v.config.privateDirected
	}
	return v.st.trust.Len() > 0 || len(v.st.trust.Revoked()) > 0
}

// recentEvents is a power of two larger than all turns that can be in flight
// (turnsWaiting+2 turns of turnCommands commands of a few events each).
const recentEvents = 1 << 14

// recentChats is a direct-mapped memory of the latest events: the chat of each
// sequence, or nil where the event is something else.
type recentChats struct {
	slots [recentEvents]recentSlot
}

type recentSlot struct {
	seq  uint64
	chat *journal.ChatAccepted
}

func (r *recentChats) put(seq uint64, chat *journal.ChatAccepted) {
	r.slots[seq%recentEvents] = recentSlot{seq: seq, chat: chat}
}

// get returns ok when the sequence is remembered at all.
func (r *recentChats) get(seq uint64) (*journal.ChatAccepted, bool) {
	s := &r.slots[seq%recentEvents]
	return s.chat, s.seq == seq && seq != 0
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
