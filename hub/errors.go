package hub

import "fleetrelay/hub/wire"

// Error is a refusal by the hub: the reason is the word for wire, log and
// command line; Text is a sentence for people and Next the next step, if there
// is one.
type Error struct {
	Reason wire.Reason
	Text   string
	Next   string
}

func (e *Error) Error() string {
	if e.Text == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Text
}
