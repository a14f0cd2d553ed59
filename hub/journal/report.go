package journal

import (
	"errors"

	"fleetrelay/hub/wire"
)

// MaxProblems bounds a report; what is beyond is counted in Report.More.
const MaxProblems = 1000

// Report is what Verify found. The journal verifies if Problems is empty.
type Report struct {
	Hub       string    `json:"hub"`
	Format    int       `json:"format"`
	Head      uint64    `json:"head"`       // last event that can be read
	HeadChain string    `json:"head_chain"` // hex
	Slot      uint64    `json:"slot"`       // last event that HEAD bears witness to
	TornSlots int       `json:"torn_slots"` // of HEAD's slots but one, any may be torn by a crash
	Events    uint64    `json:"events"`
	Bodies    uint64    `json:"bodies"`
	BodyBytes uint64    `json:"body_bytes"`
	Purged    uint64    `json:"purged"`
	Replaced  uint64    `json:"replaced"` // snapshots whose body a newer one replaced
	Rows      uint64    `json:"rows"`     // table rows
	Files     int       `json:"files"`    // table files whose every block was checked
	Problems  []Problem `json:"problems"`
	More      int       `json:"more,omitempty"`
}

// Problem is one damaged or missing range, or one contradiction.
type Problem struct {
	Reason wire.Reason `json:"reason"`
	Range  Range       `json:"range"`
	Text   string      `json:"text"`
}

// OK says that nothing is wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// add notes a problem; touching ranges of one text become one.
func (r *Report) add(reason wire.Reason, at Range, text string) {
	if n := len(r.Problems); n > 0 {
		last := &r.Problems[n-1]
		if last.Reason == reason && last.Text == text && at.From != 0 && last.Range.To+1 == at.From {
			last.Range.To = at.To
			return
		}
	}
	if len(r.Problems) >= MaxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, Problem{reason, at, text})
}

func (r *Report) corrupt(at Range, text string) { r.add(wire.ReasonJournalCorrupt, at, text) }

// addError notes a typed error as a problem; false if it is of another kind and not about the data.
func (r *Report) addError(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Reason {
	case wire.ReasonJournalCorrupt, wire.ReasonJournalRewound:
		text := string(e.Reason)
		if e.Err != nil {
			text = e.Err.Error()
		}
		r.add(e.Reason, e.Range, text)
		return true
	}
	return false
}
