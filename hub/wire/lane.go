package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// laneTag separates these hashes from any other use of SHA-256 in the program.
const laneTag = "fleet-lane-1\x00"

// LaneKind is what one record of a lane is. The zero value is a chat.
type LaneKind uint8

// The kinds of lane records. Numbers are on disk and words on the wire: append only.
const (
	// LaneChat is a chat for one seat of the receiving hub.
	LaneChat LaneKind = 0
	// LaneReceipt is what the sending hub says of a chat of the receiving one.
	LaneReceipt LaneKind = 1
	// LaneWithdrawn is a chat that was ended before it ever left its hub. It keeps
	// its number, so that the lane stays dense, and has no body.
	LaneWithdrawn LaneKind = 2
)

var laneKinds = [...]string{LaneChat: "chat", LaneReceipt: "receipt", LaneWithdrawn: "withdrawn"}

// Known says whether this build knows the kind.
func (k LaneKind) Known() bool { return int(k) < len(laneKinds) }

// String is the kind's word on a link.
func (k LaneKind) String() string {
	if !k.Known() {
		return "lane kind " + strconv.Itoa(int(k))
	}
	return laneKinds[k]
}

// ParseLaneKind reads the word of a kind.
func ParseLaneKind(word string) (k LaneKind, ok bool) {
	for k, known := range laneKinds {
		if known == word {
			return LaneKind(k), true
		}
	}
	return 0, false
}

// LaneLink is one record of a lane as its rolling hash sees it.
//
// The hash of a lane at sequence n is
//
//	SHA-256( "fleet-lane-1" 0x00 | hash at n-1 (32) | seq u64 | msg_id u64 |
//	         accepted_us i64 | sender | principal | target | client_msg_id |
//	         body digest (32) | kind )
//
// with integers big-endian and each string as its length in bytes (u32) and its
// UTF-8. The kind, a string as well, is there for a receipt only: what a chat adds
// must not change when it is withdrawn. The hash before the first record is 32 zero
// bytes. Every field has a fixed place or a length before it, so two different
// records never give one transcript.
type LaneLink struct {
	Kind        LaneKind
	Seq         uint64
	MsgID       uint64
	AcceptedUS  int64
	Sender      string
	Principal   string
	Target      string
	ClientMsgID string
	Digest      [32]byte
}

// Next is the lane hash after this record when prev is the one before it.
func (l LaneLink) Next(prev [32]byte) [32]byte {
	var room [512]byte
	b := append(room[:0], laneTag...)
	b = append(b, prev[:]...)
	b = binary.BigEndian.AppendUint64(b, l.Seq)
	b = binary.BigEndian.AppendUint64(b, l.MsgID)
	b = binary.BigEndian.AppendUint64(b, uint64(l.AcceptedUS))
	for _, s := range [...]string{l.Sender, l.Principal, l.Target, l.ClientMsgID} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = append(b, l.Digest[:]...)
	if l.Kind == LaneReceipt {
		word := l.Kind.String()
		b = binary.BigEndian.AppendUint32(b, uint32(len(word)))
		b = append(b, word...)
	}
	return sha256.Sum256(b)
}
