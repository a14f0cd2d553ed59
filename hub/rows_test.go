package hub

import (
	"strings"

	"fleetrelay/hub/journal"
)

// rowTables keeps the rows that apply writes, for tests without a store.
type rowTables map[string]string

func (w rowTables) Put(key, value []byte) { w[string(key)] = string(value) }
func (w rowTables) Delete(key []byte)     { delete(w, string(key)) }

func (w rowTables) DeleteRange(lo, hi []byte) {
	for key := range w {
		if key >= string(lo) && key < string(hi) {
			delete(w, key)
		}
	}
}

func (w rowTables) row(laneSeq uint64) outboxRow {
	r, ok := parseOutboxRow([]byte(w[string(journal.LaneKey("birch", laneSeq))]))
	if !ok {
		panic("no such row")
	}
	return r
}

// chat applies a chat to birch with a body of size bytes.
func (w rowTables) chat(st *state, laneSeq, size uint64) {
	rec := journal.ChatAccepted{MsgID: st.lastMsg + 1, Sender: "p/a", Target: "p/b@birch", HasTarget: true, Dest: "birch", LaneSeq: laneSeq}
	ev := journal.NewEvent(st.head+1, 1, rec).WithBody([]byte(strings.Repeat("x", int(size))), [32]byte{1})
	st.apply(&ev, rec, w)
}

// ack applies birch's acknowledgement.
func (w rowTables) ack(st *state, laneSeq uint64) {
	row := w.row(laneSeq)
	rec := journal.LaneAcked{Peer: "birch", LaneSeq: laneSeq, Hash: row.hash, Bytes: row.bytes}
	ev := journal.NewEvent(st.head+1, 1, rec)
	st.apply(&ev, rec, w)
}

// withdraw applies the end of a chat of size bytes.
func (w rowTables) withdraw(st *state, laneSeq, size uint64) {
	row := w.row(laneSeq)
	rec := journal.RecordWithdrawn{Peer: "birch", LaneSeq: laneSeq, ChatSeq: row.seq, LaneHash: row.hash, Bytes: size, Through: row.bytes}
	ev := journal.NewEvent(st.head+1, 1, rec)
	st.apply(&ev, rec, w)
}
