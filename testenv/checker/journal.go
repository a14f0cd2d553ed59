package checker

// chat is one accepted chat of one journal.
type chat struct {
	seq, msgID         uint64
	timeUS             int64
	sender, target, id string
	digest             string // of the carried body, as the header states it
	payload            string // clientlog.Digest of the payload in the exported body, "" when no body was exported
	dest               string
	lane               laneKey // zero unless it crosses
	origin             *originRow
}

// journal is what one hub's export states.
type journal struct {
	hub        string
	head       uint64
	epoch      string
	epochs     map[string]uint64 // epoch id → number
	chats      map[uint64]*chat
	msgIDs     map[uint64]uint64     // msg_id → seq
	out        map[laneKey]*chat     // lanes that begin here
	in         map[laneKey]*chat     // lanes that end here
	laneEnd    map[laneKey]uint64    // lane (with seq 0) → highest lane seq so far
	refusedIn  map[laneKey]string    // what this hub refused, with the reason
	refusedOut map[laneKey]string    // the far hub's refusals as learned here
	withdrawn  map[laneKey]bool      // of these, what this hub ended itself before it left
	acked      map[string]uint64     // peer → highest lane seq it acknowledged
	settled    map[uint64][]string   // chat → what its sender here is told, in order
	said       map[laneKey]*verdicts // what this hub says of other hubs' chats, by the record's own place in a lane
	heard      map[laneKey]*verdicts // what other hubs say of chats of this one, likewise
	saidOf     map[laneKey][]string  // the states that this hub said of a chat of another hub, by the chat's place
}

func newJournal() *journal {
	return &journal{
		epochs: map[string]uint64{}, chats: map[uint64]*chat{}, msgIDs: map[uint64]uint64{},
		out: map[laneKey]*chat{}, in: map[laneKey]*chat{}, laneEnd: map[laneKey]uint64{},
		refusedIn: map[laneKey]string{}, refusedOut: map[laneKey]string{}, withdrawn: map[laneKey]bool{},
		acked: map[string]uint64{}, settled: map[uint64][]string{},
		said: map[laneKey]*verdicts{}, heard: map[laneKey]*verdicts{}, saidOf: map[laneKey][]string{},
	}
}
