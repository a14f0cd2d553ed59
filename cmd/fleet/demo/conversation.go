package demo

import (
	"bytes"
	_ "embed"
	"strings"

	"fleetrelay/hub/wire"
)

//go:embed conversation.jsonl
var conversationText []byte

// line is one message of the captured conversation: seats are written seat@org, as people speak of them.
type line struct {
	From  string   `json:"from"`
	To    string   `json:"to"`
	Text  string   `json:"text"`
	Extra wire.Raw `json:"extra"`
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
