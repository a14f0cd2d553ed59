package doctor

import (
	"fmt"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

// State is how one step came out.
type State string

// The states.
const (
	OK      State = "ok"
	Failed  State = "failed"  // found wanting
	Skipped State = "skipped" // not looked at; the text says why
)

// Step is one thing that was looked at.
type Step struct {
	Name  string `json:"name"`
	Of    string `json:"of,omitzero"` // the endpoint, address or hub, where there are several
	State State  `json:"state"`
	// Text says what was found, or why it was not looked at.
	Text string `json:"text"`
	// Reason is the word for a failed step, and Next what helps.
	Reason wire.Reason `json:"reason,omitzero"`
	Next   node.Next   `json:"-"`
	// Command is Next as it is printed; the command line fills it in, which knows what folder to name.
	Command string `json:"next,omitzero"`
}

// Report is all that was looked at, in the order of looking.
type Report struct {
	Hub   string `json:"hub"`
	Peer  string `json:"peer,omitzero"`
	OK    bool   `json:"ok"`
	Steps []Step `json:"steps"`
}

// Wanting counts the failed steps and returns the first.
func (r *Report) Wanting() (count int, first Step) {
	for _, s := range r.Steps {
		if s.State == Failed {
			if count++; count == 1 {
				first = s
			}
		}
	}
	return count, first
}

func (r *Report) ok(name, of, text string, args ...any) {
	r.Steps = append(r.Steps, Step{Name: name, Of: of, State: OK, Text: fmt.Sprintf(text, args...)})
}

func (r *Report) skip(name, of, text string) {
	r.Steps = append(r.Steps, Step{Name: name, Of: of, State: Skipped, Text: text})
}

// fail notes what an error means; its text and next step are those of node.Explain.
func (r *Report) fail(name, of string, err error) {
	why := node.Explain(err)
	text := why.Text
	if why.Err != nil {
		text += ": " + node.Plain(why.Err.Error())
	}
	r.Steps = append(r.Steps, Step{Name: name, Of: of, State: Failed, Text: text, Reason: why.Reason, Next: why.Next})
}
