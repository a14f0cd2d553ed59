package demo

import (
	"bytes"
	_ "embed"
	"strings"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/player"
)

//go:embed conversation.jsonl
var conversationText []byte

// line is one message of a conversation: seats are written seat@org, as people speak of them.
type line struct {
	From  string        `json:"from"`
	To    string        `json:"to"`
	Text  string        `json:"text"`
	Extra wire.Raw      `json:"extra"`
	own   []wire.Member // members of a captured client's own
}

// cast gives the parts of the captures to the demo's agents, across the two nodes.
var cast = map[string]string{
	"agent-a": "search/planner@atlas", "agent-b": "build/ci@borea", "agent-c": "build/reviewer@borea",
}

// captured is what clients of the public hub said in captures of its wire, addressed to single seats: what they said to
// everybody goes to the other node's first part.
func captured() ([]line, error) {
	chats, err := player.CapturedChats("chat-broadcast", "chat-directed-receipt-delivered", "client-msg-id-retry")
	if err != nil {
		return nil, err
	}
	var out []line
	for _, c := range chats {
		to, ok := cast[c.To]
		if !ok || to == cast[c.From] {
			to = cast["agent-b"]
		}
		out = append(out, line{From: cast[c.From], To: to, Text: c.Text, own: c.Extra})
	}
	return out, nil
}

func conversation() ([]line, error) {
	var out []line
	for text := range bytes.Lines(conversationText) {
		var l line
		if err := wire.Unmarshal(bytes.TrimSpace(text), &l); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// split takes seat@org apart.
func split(who string) (seat, org string) {
	seat, org, _ = strings.Cut(who, "@")
	return seat, org
}
