package node

import (
	"errors"
	"fmt"

	"fleetrelay/hub/wire"
)

// Refusal is an error an operator can act on: a reason word, one sentence, and the next command or edit.
type Refusal struct {
	Reason wire.Reason
	Text   string
	Next   string
	Err    error // the cause, nil when the text says it all
}

func (r *Refusal) Error() string {
	if r.Err != nil {
		return fmt.Sprintf("%s: %s: %v", r.Reason, r.Text, r.Err)
	}
	return fmt.Sprintf("%s: %s", r.Reason, r.Text)
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// ReasonOf returns the reason word of an error, or "" when it has none.
func ReasonOf(err error) wire.Reason {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Reason
	}
	return ""
}
