package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fleetrelay/hub/wire"
)

// Refusal is an error an operator can act on: a reason word, one sentence, and the next command or edit.
type Refusal struct {
	Reason wire.Reason
	Text   string
	Next   Next
	Err    error // the cause, nil when the text says it all
}

func (r *Refusal) Error() string {
	if r.Err != nil {
		return fmt.Sprintf("%s: %s: %s", r.Reason, r.Text, Plain(r.Err.Error()))
	}
	return fmt.Sprintf("%s: %s", r.Reason, r.Text)
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// carrier is what the storage engine adds, as a line of its own, to the text of an error about damaged data. It carries
// details for programs and says nothing to people.
const carrier = "<corruption detail carrier>"

// Plain is a text of the storage engine on one line, as it is shown to people; what a line repeats is left out.
func Plain(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		said := slices.ContainsFunc(lines, func(earlier string) bool { return strings.HasSuffix(earlier, line) })
		if line != "" && line != carrier && !said {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// ReasonOf returns the reason word of an error, or "" when it has none.
func ReasonOf(err error) wire.Reason {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Reason
	}
	return ""
}
