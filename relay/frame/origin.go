package frame

import (
	"bytes"
	"encoding/hex"
	"strconv"

	"fleetrelay/hub/wire"
)

// MaxName is the largest sender, principal, target or client message id in bytes.
const MaxName = 1024

// Origin is a record's origin block: where, by whom and as what the record was first accepted. The hub that accepted it
// writes it once; every later hub passes on the bytes.
//
// On the wire it is canonical JSON: members in ascending order, no white space, shortest escapes, so that one value has
// one encoding. Relay version 1 carries one hop, hence max_hops 1 and an empty path.
type Origin struct {
	Kind        wire.LaneKind
	Hub         wire.HubID
	Epoch       uint64 // from 1
	EpochID     [16]byte
	Seq         uint64 // in the lane, from 1
	MsgID       uint64
	AcceptedUS  int64  // Unix microseconds on the accepting hub's clock
	Sender      string // bound name, without a hub part
	Principal   string // what proved the sender
	Target      string // the address as written
	ClientMsgID string // "" when there was none
	Digest      [32]byte
}

// The literal parts of an origin block around its values, in the order of the members.
const (
	litAccepted  = `{"accepted_us":`
	litClientID  = `,"client_msg_id":`
	litDigest    = `,"digest":`
	litEpoch     = `,"epoch":`
	litEpochID   = `,"epoch_id":`
	litHub       = `,"hub":`
	litKind      = `,"kind":`
	litHops      = `,"max_hops":1,"msg_id":`
	litPrincipal = `,"path":[],"principal":`
	litSender    = `,"sender":`
	litSeq       = `,"seq":`
	litTarget    = `,"target":`
	litEnd       = `}`
)

// Append appends the block. Names must be valid UTF-8 within the bounds of [Origin.Check].
func (o *Origin) Append(dst []byte) []byte {
	dst = append(dst, litAccepted...)
	dst = strconv.AppendInt(dst, o.AcceptedUS, 10)
	dst = append(dst, litClientID...)
	dst = appendText(dst, o.ClientMsgID)
	dst = append(dst, litDigest...)
	dst = appendHex(dst, o.Digest[:])
	dst = append(dst, litEpoch...)
	dst = strconv.AppendUint(dst, o.Epoch, 10)
	dst = append(dst, litEpochID...)
	dst = appendHex(dst, o.EpochID[:])
	dst = append(dst, litHub...)
	dst = appendText(dst, string(o.Hub))
	dst = append(dst, litKind...)
	dst = appendText(dst, o.Kind.String())
	dst = append(dst, litHops...)
	dst = strconv.AppendUint(dst, o.MsgID, 10)
	dst = append(dst, litPrincipal...)
	dst = appendText(dst, o.Principal)
	dst = append(dst, litSender...)
	dst = appendText(dst, o.Sender)
	dst = append(dst, litSeq...)
	dst = strconv.AppendUint(dst, o.Seq, 10)
	dst = append(dst, litTarget...)
	dst = appendText(dst, o.Target)
	return append(dst, litEnd...)
}

// Check judges the values: a known kind, numbers below 2^53, epoch and seq from 1, names present (but for the client message id) and
// at most [MaxName] bytes, the hub a hub id. The reason is malformed_origin.
func (o *Origin) Check() error {
	switch {
	case o.AcceptedUS < 0 || o.AcceptedUS >= maxNumber,
		o.Epoch == 0 || o.Epoch >= maxNumber,
		o.Seq == 0 || o.Seq >= maxNumber,
		o.MsgID >= maxNumber:
		return badOrigin("a number is out of bounds")
	case !o.Kind.Known():
		return badOrigin("an unknown kind of record")
	case !isName(o.Sender), !isName(o.Principal), !isName(o.Target), len(o.ClientMsgID) > MaxName:
		return badOrigin("a name is empty or longer than 1024 bytes")
	}
	if _, err := wire.ParseHubID(string(o.Hub)); err != nil {
		return badOrigin("hub is not a hub id")
	}
	return nil
}

func isName(s string) bool { return s != "" && len(s) <= MaxName }

func badOrigin(detail string) *Error {
	return &Error{Reason: wire.ReasonMalformedOrigin, Detail: detail}
}

// LaneLink is the block's part in the lane's rolling hash.
func (o *Origin) LaneLink() wire.LaneLink {
	return wire.LaneLink{
		Kind: o.Kind, Seq: o.Seq, MsgID: o.MsgID, AcceptedUS: o.AcceptedUS,
		Sender: o.Sender, Principal: o.Principal, Target: o.Target, ClientMsgID: o.ClientMsgID,
		Digest: o.Digest,
	}
}

// OriginParser reads origin blocks. It keeps a buffer and the last few names, because one link carries the same few
// seats over and over; it belongs to one goroutine. The zero value is ready.
type OriginParser struct {
	again []byte
	names [nameSlots]string
}

// nameSlots is a power of two; a slot is picked by the name's length and ends.
const nameSlots = 256

// Parse reads one block. Only the canonical encoding is accepted: what was read is appended again and compared, so the
// reading itself may be lenient. The error is an *Error: malformed_origin, or too_many_hops for a block that would be
// right but for its path or its max_hops. The result does not alias b.
func (p *OriginParser) Parse(b []byte) (Origin, error) {
	var o Origin
	s := scanner{rest: b, ok: true, names: &p.names}
	s.block(&o)
	if !s.ok {
		return Origin{}, whyNot(b)
	}
	if p.again = o.Append(p.again[:0]); !bytes.Equal(p.again, b) {
		return Origin{}, badOrigin("not the canonical encoding")
	}
	if err := o.Check(); err != nil {
		return Origin{}, err
	}
	return o, nil
}

// whyNot tells a block that took more hops than one from any other that cannot be read.
func whyNot(b []byte) *Error {
	obj, err := wire.ParseObject(b, wire.Limits{MaxBytes: MaxOrigin, MaxDepth: headerDepth})
	if err != nil {
		return badOrigin("not a strict JSON object")
	}
	path, _ := obj.Get("path")
	hops, _ := obj.Get("max_hops")
	n, whole := hops.Int()
	if path.Kind() == '[' && string(path) != "[]" || whole && n != 1 {
		return &Error{Reason: wire.ReasonTooManyHops, Detail: "relay version 1 carries one hop"}
	}
	return badOrigin("members missing, unknown, out of order or of another type")
}

// scanner walks over a block whose members stand where the canonical form has them.
type scanner struct {
	rest  []byte
	ok    bool
	names *[nameSlots]string
}

func (s *scanner) block(o *Origin) {
	s.literal(litAccepted)
	o.AcceptedUS = int64(s.number())
	s.literal(litClientID)
	o.ClientMsgID = s.text(false)
	s.literal(litDigest)
	s.hex(o.Digest[:])
	s.literal(litEpoch)
	o.Epoch = s.number()
	s.literal(litEpochID)
	s.hex(o.EpochID[:])
	s.literal(litHub)
	o.Hub = wire.HubID(s.text(true))
	s.literal(litKind)
	o.Kind = s.kind()
	s.literal(litHops)
	o.MsgID = s.number()
	s.literal(litPrincipal)
	o.Principal = s.text(true)
	s.literal(litSender)
	o.Sender = s.text(true)
	s.literal(litSeq)
	o.Seq = s.number()
	s.literal(litTarget)
	o.Target = s.text(true)
	s.literal(litEnd)
	s.ok = s.ok && len(s.rest) == 0
}

func (s *scanner) literal(lit string) {
	if len(s.rest) < len(lit) || string(s.rest[:len(lit)]) != lit {
		s.ok, s.rest = false, nil
		return
	}
	s.rest = s.rest[len(lit):]
}

// number reads up to 16 digits, enough for every number below 2^53.
func (s *scanner) number() (n uint64) {
	i := 0
	for i < len(s.rest) && i < 16 && s.rest[i] >= '0' && s.rest[i] <= '9' {
		n = n*10 + uint64(s.rest[i]-'0')
		i++
	}
	s.ok = s.ok && i > 0
	s.rest = s.rest[i:]
	return n
}

func (s *scanner) kind() wire.LaneKind {
	kind, known := wire.ParseLaneKind(s.text(true))
	s.ok = s.ok && known
	return kind
}

func (s *scanner) hex(dst []byte) {
	n := 2*len(dst) + 2
	if len(s.rest) < n || s.rest[0] != '"' || s.rest[n-1] != '"' {
		s.ok, s.rest = false, nil
		return
	}
	if _, err := hex.Decode(dst, s.rest[1:n-1]); err != nil {
		s.ok = false
	}
	s.rest = s.rest[n:]
}

// text reads one string; keep says that the same value is likely to come again.
func (s *scanner) text(keep bool) string {
	size, plain := stringEnd(s.rest)
	if size == 0 {
		s.ok, s.rest = false, nil
		return ""
	}
	raw := s.rest[:size]
	s.rest = s.rest[size:]
	switch {
	case !plain:
		text, ok := wire.Raw(raw).Text()
		s.ok = s.ok && ok
		return text
	case keep:
		return s.kept(raw[1 : size-1])
	}
	return string(raw[1 : size-1])
}

// kept returns b as a string, the same one as last time where it can.
func (s *scanner) kept(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	slot := &s.names[(len(b)*31+int(b[0])*7+int(b[len(b)-1])*13+int(b[len(b)/2]))%nameSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// stringEnd finds the end of the JSON string that b starts with: its size with both quotes, 0 if there is none, and
// whether it is plain ASCII without an escape, so that the bytes between the quotes are its value.
func stringEnd(b []byte) (size int, plain bool) {
	if len(b) == 0 || b[0] != '"' {
		return 0, false
	}
	plain = true
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\\':
			plain = false
			i++
		case c < 0x20 || c >= 0x7f:
			plain = false
		}
	}
	return 0, false
}

// appendText appends s as a JSON string.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return wire.AppendString(dst, s)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
