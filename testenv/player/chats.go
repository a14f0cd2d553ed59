package player

import (
	"slices"

	"fleetrelay/hub/wire"
)

// Chat is one chat as a captured client sent it.
type Chat struct {
	File  string
	From  string        // the sender's name in the capture
	To    string        // its target, "" for none
	Text  string        // the payload; chats whose payload is no text are left out
	Extra []wire.Member // members of the client's own
}

// known are the members of a chat that are not the client's own.
var known = []string{
	"sender", "target", "type", "payload", "timestamp", "receipt_requested", "client_msg_id",
	"hub_id", "msg_id", "seq", "client_timestamp", "token",
}

// CapturedChats lists the chats that clients sent in some of the files, in order,
// for who wants the traffic and not the judgement.
func CapturedChats(files ...string) ([]Chat, error) {
	all, err := Captured()
	if err != nil {
		return nil, err
	}
	var out []Chat
	for _, s := range all {
		if !slices.Contains(files, s.Name) {
			continue
		}
		for i := range s.Entries {
			if c, ok := s.Entries[i].chat(); ok {
				c.File = s.Name
				out = append(out, c)
			}
		}
	}
	return out, nil
}

func (e *Entry) chat() (c Chat, ok bool) {
	if e.Dir != toHub || len(e.Frame) == 0 {
		return Chat{}, false
	}
	in, bad := wire.ParseInbound(e.Frame, wire.Limits{})
	if bad != nil || in.Type != wire.TypeChat {
		return Chat{}, false
	}
	payload, _ := in.Object.Get("payload")
	c = Chat{From: in.Sender, To: in.Target}
	c.Text, ok = payload.Text()
	for _, m := range in.Object.Members {
		if !slices.Contains(known, m.Name) {
			c.Extra = append(c.Extra, m)
		}
	}
	return c, ok && c.Text != ""
}
