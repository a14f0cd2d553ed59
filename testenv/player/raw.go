package player

import (
	"strings"

	"github.com/coder/websocket"
)

// What the captures describe instead of writing it down.
const (
	rawBinary      = "<binary frame ff fe 00 ...>"
	rawBinaryText  = "<binary frame> "
	rawTooLarge    = "<1 MiB + envelope>"
	rawManyDigits  = "<5000 digits>"
	rawDepthAtMost = `{... "meta": 63 nested arrays} (depth 64)`
	rawDepthOver   = `{... "meta": 64 nested arrays} (depth 65)`
)

// expand makes the message that a raw text describes, as the client of that connection sends it.
func expand(raw, sender string) (websocket.MessageType, []byte) {
	envelope := `{"sender":"` + sender + `","target":"all",`
	switch {
	case raw == rawBinary:
		return websocket.MessageBinary, []byte{0xff, 0xfe, 0x00, 0x80}
	case strings.HasPrefix(raw, rawBinaryText):
		return websocket.MessageBinary, []byte(strings.TrimPrefix(raw, rawBinaryText))
	case raw == rawTooLarge:
		return websocket.MessageText, []byte(envelope + `"type":"chat","payload":"` + strings.Repeat("x", 1<<20) + `"}`)
	case raw == rawDepthAtMost:
		return websocket.MessageText, []byte(envelope + `"type":"heartbeat","meta":` + nested(63) + `}`)
	case raw == rawDepthOver:
		return websocket.MessageText, []byte(envelope + `"type":"heartbeat","meta":` + nested(64) + `}`)
	}
	return websocket.MessageText, []byte(strings.ReplaceAll(raw, rawManyDigits, strings.Repeat("1", 5000)))
}

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}
