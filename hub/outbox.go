package hub

import (
	"encoding/binary"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// outboxRow is the value of a lane row. Its length tells its layout:
//
//	 0  u64  event
//	 8       the lane's rolling hash at this record, 32 bytes
//	40  u64  bytes of all bodies of the lane up to this record
//	48  u8   what the record is: its LaneKind
//
// Rows of 40 bytes are of a build that did not count: a chat, and no bytes.
type outboxRow struct {
	seq   uint64
	hash  [32]byte
	bytes uint64
	kind  wire.LaneKind
}

// Lengths of the two layouts.
const (
	oldRowBytes    = 40
	outboxRowBytes = oldRowBytes + 8 + 1
)

func (r outboxRow) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, r.seq)
	dst = append(dst, r.hash[:]...)
	dst = binary.BigEndian.AppendUint64(dst, r.bytes)
	return append(dst, byte(r.kind))
}

func parseOutboxRow(row []byte) (r outboxRow, ok bool) {
	if len(row) != oldRowBytes && len(row) != outboxRowBytes {
		return r, false
	}
	r.seq = binary.BigEndian.Uint64(row)
	copy(r.hash[:], row[8:])
	if len(row) == outboxRowBytes {
		r.bytes, r.kind = binary.BigEndian.Uint64(row[oldRowBytes:]), wire.LaneKind(row[outboxRowBytes-1])
	}
	return r, r.kind.Known()
}

// outboxRow reads one row of our lane to a peer. What a peer speaks of was sent
// after its sync, so it is in Pebble.
func (v *view) outboxRow(peer wire.HubID, laneSeq uint64) (r outboxRow, ok bool) {
	row, ok, err := v.store.Get(journal.LaneKey(string(peer), laneSeq))
	if err != nil {
		panic(err)
	}
	if !ok {
		return r, false
	}
	return parseOutboxRow(row)
}

// wayBackFull says that no more receipts may wait for a peer. They get a quarter more
// room than chats: a chat that could not be answered is not taken.
func (v *view) wayBackFull(peer wire.HubID) bool {
	l := v.st.laneOf(peer)
	limits := &v.config.limits
	records, bytes := uint64(limits.PeerRecords), uint64(limits.PeerBytes)
	return l.outHead-l.acked >= records+records/4+1 || l.waiting() >= bytes+bytes/4
}

// bodyLen is an event's body in bytes, of one just decided and of one replayed.
func bodyLen(ev *journal.Event) uint64 { return max(uint64(len(ev.Body)), uint64(ev.BodyLen)) }

// waiting is the bytes of bodies that the peer has not acknowledged and that were not
// withdrawn. While only a part of the withdrawn ones is acknowledged it may count a
// little too much, what lies between them, and never too little.
func (l *lane) waiting() uint64 {
	gone := l.ackBytes - min(l.ackBytes, l.marks.freedFrom) // acknowledged since the first was withdrawn
	freed := l.marks.freed - min(l.marks.freed, gone)
	return l.outBytes - min(l.ackBytes+freed, l.outBytes)
}

// outboxFull says that a chat with a body of this many bytes may not wait for a
// peer beside what does already. A chat always fits into an empty outbox.
func (v *view) outboxFull(peer wire.HubID, body int) bool {
	l := v.st.lanes[peer]
	if l == nil || l.outHead == l.acked {
		return false
	}
	limits := &v.config.limits
	return l.outHead-l.acked >= uint64(limits.PeerRecords) || l.waiting()+uint64(body) > uint64(limits.PeerBytes)
}
