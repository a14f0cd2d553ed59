package wire

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is read from agents' frames.
const (
	// MaxRoles and MaxRoleBytes bound the roles of one agent; what is beyond is
	// dropped like a blank one.
	MaxRoles     = 256
	MaxRoleBytes = 256
	// maxEchoBytes bounds what an error sentence repeats of the frame.
	maxEchoBytes = 256
)

// FrameError is a refused frame: the reason word and the sentence for the peer.
// The socket stays usable.
type FrameError struct {
	Reason Reason
	Text   string // payload of the error frame
}

// Error names the reason only: the text may repeat what the peer sent.
func (e *FrameError) Error() string { return string(e.Reason) }

// Code is the word for the frame's error_code: none for the errors public hubs send,
// which carry none there either.
func (e *FrameError) Code() Reason {
	switch e.Reason {
	case ReasonMalformedJSON, ReasonMalformedFrame, ReasonUnknownType:
		return ""
	}
	return e.Reason
}

// Inbound is one frame of an agent after the checks that come before any name is
// known. Object aliases the parsed text; the other fields are copies.
type Inbound struct {
	Sender    string // trimmed; "" when absent or blank
	Target    string // as sent
	HasTarget bool   // false when absent or null
	Type      FrameType
	Token     string // as sent; "" when absent or not a string
	Object    Object
}

// ParseInbound reads one frame: strict JSON, an object, and its text fields
// (sender, target, type, channel, in this order; null counts as absent). Type is
// trimmed and lower-cased, chat when absent or blank; whether it is known is
// [UnknownType]'s business, since a name is bound before that.
func ParseInbound(b []byte, lim Limits) (Inbound, *FrameError) {
	o, err := ParseObject(b, lim)
	if err != nil {
		return Inbound{}, frameErrorOf(err)
	}
	in := Inbound{Object: o}
	fields := [...]string{memberSender, memberTarget, memberType, memberChannel}
	var texts [len(fields)]string
	for i, name := range fields {
		v, ok := o.value(name)
		if !ok {
			continue
		}
		if texts[i], ok = v.Text(); !ok {
			return Inbound{}, &FrameError{
				Reason: ReasonMalformedFrame,
				Text:   "Malformed frame: '" + name + "' must be a string.",
			}
		}
		in.HasTarget = in.HasTarget || name == memberTarget
	}
	in.Sender, in.Target, in.Type = trim(texts[0]), texts[1], frameType(texts[2])
	in.Token = o.text(memberToken)
	return in, nil
}

func frameErrorOf(err error) *FrameError {
	e, ok := err.(*JSONError)
	switch {
	case ok && e.Reason == ReasonMalformedFrame:
		return &FrameError{Reason: e.Reason, Text: "Malformed frame: expected a JSON object."}
	case ok && e.Reason == ReasonMessageTooLarge:
		return &FrameError{Reason: e.Reason, Text: "The frame is larger than this hub accepts."}
	}
	return &FrameError{Reason: ReasonMalformedJSON, Text: "Malformed JSON."}
}

// UnknownType is the refusal of a verb this hub does not speak. It repeats at most
// 256 bytes of it.
func UnknownType(t FrameType) *FrameError {
	return &FrameError{
		Reason: ReasonUnknownType,
		Text:   "Unknown message type '" + clip(string(t)) + "'.",
	}
}

func frameType(s string) FrameType {
	switch s {
	case "", "chat":
		return TypeChat
	case "ack":
		return TypeAck
	case "heartbeat":
		return TypeHeartbeat
	}
	if s = strings.ToLower(trim(s)); s == "" {
		return TypeChat
	}
	return FrameType(s)
}

// Heartbeat is what a heartbeat says beside being one. All fields are honoured on
// any heartbeat except Takeover, which counts on the frame that binds the name.
type Heartbeat struct {
	Takeover   bool     // may evict the present holder of the name
	Wake       string   // direct, passive, pane_bridge or unknown; "" when absent
	Roles      []string // trimmed, unique, in order; replaces the earlier set
	HasRoles   bool     // false leaves the earlier set
	Mailbox    bool     // asks for a replay
	SinceSeq   uint64   // replay cursor, at most 2^63-1
	HasSince   bool
	MailboxFor string // whose mailbox, trimmed; "" when absent
}

// Heartbeat reads the fields of a heartbeat. Nothing in it can be refused:
// malformed members count as absent or as their harmless value.
func (in *Inbound) Heartbeat() Heartbeat {
	o := &in.Object
	h := Heartbeat{MailboxFor: trim(o.text(memberMailboxFor))}
	if v, ok := o.value("takeover"); ok {
		h.Takeover, _ = v.Bool()
	}
	if v, ok := o.value("wake_capability"); ok {
		h.Wake = wakeCapability(v)
	}
	if v, ok := o.value("roles"); ok && v.Kind() == '[' {
		h.Roles, h.HasRoles = roles(v), true
	}
	if v, ok := o.value("mailbox"); ok {
		h.Mailbox, _ = v.Bool()
	}
	if v, ok := o.value("since_seq"); ok {
		h.SinceSeq, h.HasSince = sequence(v), true
	}
	return h
}

// Wake capabilities an agent may declare.
const (
	WakeDirect     = "direct"
	WakePassive    = "passive"
	WakePaneBridge = "pane_bridge"
	WakeUnknown    = "unknown"
)

func wakeCapability(v Raw) string {
	s, _ := v.Text()
	switch s = strings.ReplaceAll(strings.ToLower(trim(s)), "-", "_"); s {
	case WakeDirect, WakePassive, WakePaneBridge:
		return s
	}
	return WakeUnknown
}

func roles(v Raw) []string {
	out := []string{}
	seen := map[string]bool{}
	for i := skipSpace(v, 1); v[i] != ']'; {
		end := valueEnd(v, i)
		role, _ := v[i:end].Text()
		if role = trim(role); role != "" && len(role) <= MaxRoleBytes && !seen[role] {
			seen[role] = true
			out = append(out, role)
		}
		if i = skipSpace(v, end); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
		if len(out) == MaxRoles {
			break
		}
	}
	return out
}

// sequence reads a replay cursor: a number or a numeric string, cut to an integer.
// Malformed and negative ones are 0; what exceeds an int64 is its largest, since
// such a cursor means "nothing", never "everything".
func sequence(v Raw) uint64 {
	digits := string(v)
	switch v.Kind() {
	case '"':
		s, _ := v.Text()
		digits = strings.TrimPrefix(trim(s), "+")
		if digits == "" || !isInteger([]byte(digits)) {
			return 0
		}
	case '0':
		if f, ok := v.Float(); ok && !isInteger(v) {
			return cutFloat(f)
		}
	default:
		return 0
	}
	n, _ := strconv.ParseInt(digits, 10, 64) // saturates when out of range
	return uint64(max(n, 0))
}

func cutFloat(f float64) uint64 {
	switch {
	case f < 1:
		return 0
	case f >= 1<<63:
		return 1<<63 - 1
	}
	return uint64(f)
}

// Ack is one mailbox acknowledgement.
type Ack struct {
	Seq        uint64 // at least 1
	MailboxFor string // whose mailbox, trimmed; "" when absent
}

// Ack reads an ack; ok is false for one that is silently ignored (seq is not an
// integer literal of at least 1).
func (in *Inbound) Ack() (a Ack, ok bool) {
	v, _ := in.Object.Get(memberSeq)
	n, ok := v.Int()
	if !ok || n < 1 {
		return Ack{}, false
	}
	return Ack{Seq: uint64(n), MailboxFor: trim(in.Object.text(memberMailboxFor))}, true
}

// trim cuts what public hubs count as white space from both ends: Unicode space
// and the four ASCII separators.
func trim(s string) string {
	if s == "" || (graphic(s[0]) && graphic(s[len(s)-1])) {
		return s
	}
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || (0x1c <= r && r <= 0x1f)
	})
}

func graphic(c byte) bool { return ' ' < c && c < utf8.RuneSelf }

// clip bounds what a sentence repeats of a frame, at a rune boundary.
func clip(s string) string {
	if len(s) <= maxEchoBytes {
		return s
	}
	n := maxEchoBytes
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
