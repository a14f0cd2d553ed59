package wire

import (
	"bytes"
	"strconv"
)

// The functions of this file walk JSON text that the codec has already found
// valid. They never check grammar and may rely on it: every string is closed,
// every bracket matched, every value present.

// scan looks for nesting above maxDepth and for numbers out of bounds, anywhere
// in the text. It returns the broken rule and its offset, or "".
func scan(b []byte, maxDepth int) (Rule, int) {
	depth := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = stringEnd(b, i)
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return RuleDepth, i
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == '-' || isDigit(c):
			end := numberEnd(b, i)
			if !numberBounded(b[i:end]) {
				return RuleNumber, i
			}
			i = end
		default:
			i++
		}
	}
	return "", 0
}

// members splits the object that starts at b[i].
func members(b []byte, i int) []Member {
	out := make([]Member, 0, 12)
	for i++; ; i++ {
		i = skipSpace(b, i)
		if b[i] == '}' {
			return out
		}
		nameEnd := stringEnd(b, i)
		name := internName(b[i:nameEnd])
		i = skipSpace(b, nameEnd) + 1 // past the colon
		i = skipSpace(b, i)
		end := valueEnd(b, i)
		out = append(out, Member{Name: name, Value: Raw(b[i:end:end])})
		if i = skipSpace(b, end); b[i] == '}' {
			return out
		}
	}
}

// valueEnd is the offset after the value that starts at b[i].
func valueEnd(b []byte, i int) int {
	switch c := b[i]; {
	case c == '"':
		return stringEnd(b, i)
	case c == '{' || c == '[':
		return containerEnd(b, i)
	case c == 't' || c == 'n':
		return i + 4
	case c == 'f':
		return i + 5
	default:
		return numberEnd(b, i)
	}
}

func containerEnd(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// stringEnd is the offset after the closing quote of the string at b[i]. Each run
// of backslashes is counted once, so the cost stays linear.
func stringEnd(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

func numberEnd(b []byte, i int) int {
	for i < len(b) {
		switch c := b[i]; {
		case isDigit(c), c == '-', c == '+', c == '.', c == 'e', c == 'E':
			i++
		default:
			return i
		}
	}
	return i
}

// numberBounded tells whether a valid number literal is within the wire's bounds:
// an integer by its digits, anything else by being finite as a double.
func numberBounded(b []byte) bool {
	if isInteger(b) {
		return len(bytes.TrimPrefix(b, []byte{'-'})) <= MaxIntegerDigits
	}
	// Below 200 bytes and with an exponent of at most two digits nothing can
	// reach 1e308, which spares nearly every number the conversion.
	if len(b) < 200 && shortExponent(b) {
		return true
	}
	_, err := strconv.ParseFloat(string(b), 64)
	return err == nil
}

func shortExponent(b []byte) bool {
	i := bytes.LastIndexAny(b, "eE")
	return i < 0 || len(bytes.TrimLeft(b[i+1:], "+-")) <= 2
}

func isInteger(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) && c != '-' {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// internName decodes a member name; the names the hub knows cost no allocation.
func internName(quoted []byte) string {
	switch string(quoted) {
	case `"sender"`:
		return memberSender
	case `"target"`:
		return memberTarget
	case `"type"`:
		return memberType
	case `"payload"`:
		return "payload"
	case `"timestamp"`:
		return memberTimestamp
	case `"token"`:
		return memberToken
	case `"channel"`:
		return memberChannel
	case `"client_msg_id"`:
		return memberClientMsgID
	case `"client_timestamp"`:
		return memberClientTimestamp
	case `"receipt_requested"`:
		return memberReceiptRequested
	case `"priority"`:
		return "priority"
	case `"metadata"`:
		return "metadata"
	case `"seq"`:
		return memberSeq
	case `"mailbox_for"`:
		return memberMailboxFor
	}
	s, _ := Raw(quoted).Text()
	return s
}

// Member names this package reads or writes in more than one place.
const (
	memberSender           = "sender"
	memberTarget           = "target"
	memberType             = "type"
	memberToken            = "token"
	memberTimestamp        = "timestamp"
	memberHubID            = "hub_id"
	memberMsgID            = "msg_id"
	memberSeq              = "seq"
	memberReplayed         = "replayed"
	memberChannel          = "channel"
	memberClientMsgID      = "client_msg_id"
	memberClientTimestamp  = "client_timestamp"
	memberReceiptRequested = "receipt_requested"
	memberResponseTo       = "response_to_seq"
	memberResponseStatus   = "response_status"
	memberResponseScope    = "response_evidence_scope"
	memberMailboxFor       = "mailbox_for"
)
