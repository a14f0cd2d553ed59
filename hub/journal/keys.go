package journal

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// The first byte of a key is its table. Letters are on disk for ever.
const (
	tableEvent    = 'e'
	tableBody     = 'b'
	tableChain    = 'c'
	tablePurged   = 'p'
	tableSnapshot = 's'

	// TableMailbox and the following are projected by the caller through Batch.Put and Delete. A caller may use
	// further letters, except those of the journal itself (b, c, e, p, s).
	TableMailbox   = 'm'
	TableLane      = 'o'
	TableNote      = 'n'
	TableWatermark = 'w'
)

// ownTable says that a table is written by the journal alone.
func ownTable(table byte) bool {
	switch table {
	case tableEvent, tableBody, tableChain, tablePurged, tableSnapshot:
		return true
	}
	return false
}

func seqKey(table byte, seq uint64) []byte {
	return appendSeqKey(make([]byte, 0, 9), table, seq)
}

func appendSeqKey(dst []byte, table byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, table), seq)
}

// seqRange is the half-open key range of the seqs [from, to] in a table of seq8 keys.
func seqRange(table byte, from, to uint64) (lo, hi []byte) {
	if to == math.MaxUint64 {
		return seqKey(table, from), []byte{table + 1}
	}
	return seqKey(table, from), seqKey(table, to+1)
}

// SeqOfKey is the number in the last 8 bytes of a mailbox, lane or notification key (0 for a shorter key).
func SeqOfKey(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}

// SeqValue is a seq as a table value; ParseSeqValue reads it.
func SeqValue(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// ParseSeqValue reads SeqValue; ok is false for any other length.
func ParseSeqValue(v []byte) (seq uint64, ok bool) {
	if len(v) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(v), true
}

// named is table + name + 00 + seq8. A name never holds a zero byte: names with control characters are refused
// long before, so one here is a broken invariant.
func named(table byte, name string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(namedPrefix(table, name), seq)
}

func namedPrefix(table byte, name string) []byte {
	if strings.IndexByte(name, 0) >= 0 {
		panic("journal: zero byte in the name of key table " + string(rune(table)))
	}
	key := make([]byte, 0, 1+len(name)+1+8)
	key = append(key, table)
	key = append(key, name...)
	return append(key, 0)
}

// namedRange is the half-open key range of the seqs [from, to] under one name.
func namedRange(table byte, name string, from, to uint64) (lo, hi []byte) {
	lo = named(table, name, from)
	if to != math.MaxUint64 {
		return lo, named(table, name, to+1)
	}
	hi = namedPrefix(table, name)
	hi[len(hi)-1] = 1
	return lo, hi
}

// NameOfKey is the name in a mailbox, lane or notification key ("" if it is not one).
func NameOfKey(key []byte) string {
	if len(key) < 1+1+8 {
		return ""
	}
	name := key[1 : len(key)-8]
	if i := bytes.IndexByte(name, 0); i == len(name)-1 {
		return string(name[:i])
	}
	return ""
}

// MailboxKey is the row of one event in one mailbox part.
func MailboxKey(part string, seq uint64) []byte { return named(TableMailbox, part, seq) }

// MailboxRange covers the rows of part with from <= seq <= to, as the half-open [lo, hi) that Scan takes.
func MailboxRange(part string, from, to uint64) (lo, hi []byte) {
	return namedRange(TableMailbox, part, from, to)
}

// LaneKey is the row of one record owed to a peer; its value begins with the event's SeqValue.
func LaneKey(peer string, laneSeq uint64) []byte { return named(TableLane, peer, laneSeq) }

// LaneRange covers the lane rows of peer with from <= lane seq <= to.
func LaneRange(peer string, from, to uint64) (lo, hi []byte) {
	return namedRange(TableLane, peer, from, to)
}

// NoteKey is the row of one notification owed to a sender; seq is the event that created it.
func NoteKey(sender string, seq uint64) []byte { return named(TableNote, sender, seq) }

// NoteRange covers the notification rows of sender with from <= seq <= to.
func NoteRange(sender string, from, to uint64) (lo, hi []byte) {
	return namedRange(TableNote, sender, from, to)
}

// WatermarkKey is the row of an identity's acknowledged seq; its value is a SeqValue.
func WatermarkKey(identity string) []byte { return append([]byte{TableWatermark}, identity...) }

// TableRange covers a whole table of the caller.
func TableRange(table byte) (lo, hi []byte) { return []byte{table}, []byte{table + 1} }
