package client

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fleetrelay/hub/wire"
)

// Message is one chat to send.
type Message struct {
	// To is the target; "" addresses everybody.
	To string
	// Text is the payload, unless Payload, one JSON value, is set.
	Text    string
	Payload wire.Raw
	// ClientMsgID is the retry id: 1 to 256 bytes without control characters, not the id of another outstanding message.
	// "" means a new one.
	ClientMsgID string
	// ReceiptRequested asks for a delivery receipt.
	ReceiptRequested bool
	// Extra members travel along; their names must not be the envelope's.
	Extra []wire.Member
}

// ErrMessage is a message that cannot be sent as it is: a text that is not UTF-8, a payload or extra member that is not strict
// JSON or has a reserved name, an unusable id, or more than 1 MiB in all.
var ErrMessage = errors.New("client: message cannot be sent")

// build makes the frame of m, sent by name at now.
func (m *Message) build(name string, now time.Time) ([]byte, error) {
	if !utf8.ValidString(m.Text) || !utf8.ValidString(m.To) || !validID(m.ClientMsgID) {
		return nil, fmt.Errorf("%w: not UTF-8 or unusable id", ErrMessage)
	}
	b := make([]byte, 0, 192+len(m.Text)+len(m.Payload)+len(m.To))
	b = append(b, `{"sender":`...)
	b = wire.AppendString(b, name)
	if m.To != "" {
		b = append(b, `,"target":`...)
		b = wire.AppendString(b, m.To)
	}
	b = append(b, `,"type":"chat","payload":`...)
	if m.Payload != nil {
		b = append(b, m.Payload...)
	} else {
		b = wire.AppendString(b, m.Text)
	}
	b = append(b, `,"timestamp":`...)
	b = wire.AppendSeconds(b, now.UnixMicro())
	b = append(b, `,"client_msg_id":`...)
	b = wire.AppendString(b, m.ClientMsgID)
	if m.ReceiptRequested {
		b = append(b, `,"receipt_requested":true`...)
	}
	for _, x := range m.Extra {
		b = append(b, ',')
		b = wire.AppendString(b, x.Name)
		b = append(b, ':')
		b = append(b, x.Value...)
	}
	b = append(b, '}')
	return b, m.check(b)
}

// check holds the built frame to the hub's own rules as far as foreign bytes went into it: strict JSON, and each of our
// members still there once, with our value.
func (m *Message) check(b []byte) error {
	if len(b) > wire.DefaultMaxBytes {
		return fmt.Errorf("%w: larger than 1 MiB", ErrMessage)
	}
	if m.Payload == nil && len(m.Extra) == 0 {
		return nil
	}
	o, err := wire.ParseObject(b, wire.Limits{})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	own := 5
	for _, present := range []bool{m.To != "", m.ReceiptRequested} {
		if present {
			own++
		}
	}
	if len(o.Members) != own+len(m.Extra) {
		return fmt.Errorf("%w: a value is more than one value", ErrMessage)
	}
	for i, x := range m.Extra {
		if reserved(x.Name) || o.Members[own+i].Name != x.Name {
			return fmt.Errorf("%w: an extra member has a reserved name", ErrMessage)
		}
	}
	return nil
}

// reserved tells whether the envelope or the hub owns the member.
func reserved(name string) bool {
	switch name {
	case "sender", "target", "type", "payload", "timestamp", "token", "client_msg_id", "receipt_requested", "channel",
		"hub_id", "msg_id", "seq", "replayed", "client_timestamp":
		return true
	}
	return false
}

// validID tells whether a hub keeps s as a retry id without changing it.
func validID(s string) bool {
	return len(s) > 0 && len(s) <= wire.MaxClientMsgIDBytes && utf8.ValidString(s) &&
		strings.TrimSpace(s) == s && !strings.ContainsFunc(s, unicode.IsControl)
}

func appendUint(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

// registration is the heartbeat that binds the name. Recorders get it without the token.
func (o *Options) registration(since uint64, now time.Time, withToken bool) []byte {
	b := o.control(wire.TypeHeartbeat, "online", now)
	if o.Token != "" && withToken {
		b = append(b, `,"token":`...)
		b = wire.AppendString(b, o.Token)
	}
	if o.Takeover {
		b = append(b, `,"takeover":true`...)
	}
	if o.Wake != "" {
		b = append(b, `,"wake_capability":`...)
		b = wire.AppendString(b, o.Wake)
	}
	if o.Roles != nil {
		b = append(b, `,"roles":[`...)
		for i, r := range o.Roles {
			if i > 0 {
				b = append(b, ',')
			}
			b = wire.AppendString(b, r)
		}
		b = append(b, ']')
	}
	return append(o.mailbox(b, since), '}')
}

// replay is a later heartbeat that asks for the mailbox again.
func (o *Options) replay(since uint64, now time.Time) []byte {
	return append(o.mailbox(o.control(wire.TypeHeartbeat, "alive", now), since), '}')
}

func (o *Options) mailbox(b []byte, since uint64) []byte {
	if !o.Mailbox {
		return b
	}
	b = append(b, `,"mailbox":true,"since_seq":`...)
	b = appendUint(b, since)
	return o.mailboxFor(b)
}

func (o *Options) mailboxFor(b []byte) []byte {
	if o.MailboxFor != "" {
		b = append(b, `,"mailbox_for":`...)
		b = wire.AppendString(b, o.MailboxFor)
	}
	return b
}

func (o *Options) ack(seq uint64, now time.Time) []byte {
	b := append(o.control(wire.TypeAck, "", now), `,"seq":`...)
	return append(o.mailboxFor(appendUint(b, seq)), '}')
}

// control begins a frame to the hub itself, without its closing brace.
func (o *Options) control(t wire.FrameType, payload string, now time.Time) []byte {
	b := append(make([]byte, 0, 160), `{"sender":`...)
	b = wire.AppendString(b, o.Name)
	b = append(b, `,"target":"System","type":"`...)
	b = append(b, t...)
	b = append(b, `","payload":"`...)
	b = append(b, payload...)
	b = append(b, `","timestamp":`...)
	return wire.AppendSeconds(b, now.UnixMicro())
}
