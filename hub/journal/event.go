package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxBody bounds one body, MaxAttrs one record's fields, in bytes. Both leave room above every frame limit.
const (
	MaxBody  = 1 << 30
	MaxAttrs = 1<<24 - 1
)

// Event is one durable fact.
type Event struct {
	Seq    uint64 // dense from 1 over all events of the node
	Kind   Kind
	Format uint8 // 0 on append = the newest layout of its kind; see FormatNumber
	TimeUS int64 // Unix microseconds
	Attrs  []byte
	// Body is given on append and empty on events that are read: see Store.Body.
	Body []byte
	// HasBody says that the event was written with a body (possibly purged since).
	HasBody bool
	// BodyLen is the body's length in bytes; on append it is taken from Body.
	BodyLen uint32
	// Digest is SHA-256 of the body, computed by the caller. All zero on append = computed here.
	Digest [sha256.Size]byte
}

// Record is a typed record: one of this package's structs named like the kinds.
type Record interface {
	Kind() Kind
	Append(dst []byte) []byte
}

// NewEvent is an event that states rec, without a body.
func NewEvent(seq uint64, timeUS int64, rec Record) Event {
	return Event{Seq: seq, Kind: rec.Kind(), TimeUS: timeUS, Attrs: rec.Append(nil)}
}

// WithBody returns the event with a body and its digest (all zero = computed on append).
func (ev Event) WithBody(body []byte, digest [sha256.Size]byte) Event {
	ev.Body, ev.HasBody, ev.Digest = body, true, digest
	return ev
}

// Record parses the event's attributes as its kind and format say. Readers of stored events use it rather than
// the Parse functions, since it ignores unknown fields where the event's format allows that.
func (ev Event) Record() (any, error) {
	info, ok := ev.Kind.info()
	if !ok || ev.Format&FormatNumber > info.format || ev.Format&FormatNumber == 0 {
		return nil, fmt.Errorf("journal: event %d: %w: %v format %d", ev.Seq, ErrUnknownKind, ev.Kind, ev.Format)
	}
	return info.parse(ev.Attrs, ev.Format&FormatAdditive != 0)
}

// ErrUnknownKind marks an event this build cannot read: a newer build wrote it.
var ErrUnknownKind = errors.New("unknown kind or format")

const (
	headerFormat   = 1
	flagBody       = 1
	headerFixed    = 1 + 1 + 2 + 1 + 8 + 8
	headerBody     = 4 + sha256.Size
	headerAttrsLen = 3
)

var errHeader = errors.New("journal: malformed event header")

// AppendHeader appends the stored form of everything but the body.
func AppendHeader(dst []byte, ev *Event) []byte {
	flags := byte(0)
	if ev.HasBody {
		flags = flagBody
	}
	dst = append(dst, headerFormat, flags)
	dst = binary.BigEndian.AppendUint16(dst, uint16(ev.Kind))
	dst = append(dst, ev.Format)
	dst = binary.BigEndian.AppendUint64(dst, ev.Seq)
	dst = binary.BigEndian.AppendUint64(dst, uint64(ev.TimeUS))
	if ev.HasBody {
		dst = binary.BigEndian.AppendUint32(dst, ev.BodyLen)
		dst = append(dst, ev.Digest[:]...)
	}
	n := len(ev.Attrs)
	dst = append(dst, byte(n>>16), byte(n>>8), byte(n))
	return append(dst, ev.Attrs...)
}

// ParseHeader reads what AppendHeader wrote. Attrs aliases b.
func ParseHeader(b []byte) (Event, error) {
	if len(b) < headerFixed+headerAttrsLen || b[0] != headerFormat || b[1]&^flagBody != 0 {
		return Event{}, errHeader
	}
	ev := Event{
		HasBody: b[1] == flagBody,
		Kind:    Kind(binary.BigEndian.Uint16(b[2:])),
		Format:  b[4],
		Seq:     binary.BigEndian.Uint64(b[5:]),
		TimeUS:  int64(binary.BigEndian.Uint64(b[13:])),
	}
	b = b[headerFixed:]
	if ev.HasBody {
		if len(b) < headerBody+headerAttrsLen {
			return Event{}, errHeader
		}
		ev.BodyLen = binary.BigEndian.Uint32(b)
		copy(ev.Digest[:], b[4:])
		b = b[headerBody:]
	}
	n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	if len(b) != headerAttrsLen+n || ev.BodyLen > MaxBody {
		return Event{}, errHeader
	}
	ev.Attrs = b[headerAttrsLen:]
	return ev, nil
}
