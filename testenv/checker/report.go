package checker

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"fleetrelay/hub/wire"
)

// Word names one kind of broken promise. The list is closed.
type Word string

// The words, in the order of the ranked promises.
const (
	AcceptedLost     Word = "accepted_lost"
	DeliveredTwice   Word = "delivered_twice"
	Order            Word = "order"
	Altered          Word = "altered"
	EffectBeforeSync Word = "effect_before_sync"
	Contradiction    Word = "contradiction"
	Unproven         Word = "unproven"
	ReceiptMissing   Word = "receipt_missing"
	ReceiptConflict  Word = "receipt_conflict"
	ReceiptFalse     Word = "receipt_false"
)

// Words lists every word.
func Words() []Word {
	return []Word{AcceptedLost, DeliveredTwice, Order, Altered, EffectBeforeSync, Contradiction, Unproven, ReceiptMissing, ReceiptConflict, ReceiptFalse}
}

// shownPerWord bounds the findings kept in detail; all are counted.
const shownPerWord = 10

// Finding is one broken promise, with enough to find the lines that prove it.
type Finding struct {
	Word   Word   `json:"word"`
	Hub    string `json:"hub,omitzero"`
	Seq    uint64 `json:"seq,omitzero"`
	From   string `json:"from,omitzero"`
	To     string `json:"to,omitzero"`
	ID     string `json:"client_msg_id,omitzero"`
	Detail string `json:"detail"`
}

// Totals are what the evidence held.
type Totals struct {
	Clients   int `json:"clients"`
	Sent      int `json:"sent"`      // distinct messages
	Sends     int `json:"sends"`     // frames sent, repeats counted
	Accepted  int `json:"accepted"`  // distinct messages told accepted
	Refused   int `json:"refused"`   // refusals told
	Delivered int `json:"delivered"` // distinct (message, application) pairs received
	Receipts  int `json:"receipts"`
	Hubs      int `json:"hubs"`
	Events    int `json:"events"` // over all exports
	Records   int `json:"records"`
}

// Report is the verdict.
type Report struct {
	Totals     Totals       `json:"totals"`
	Counts     map[Word]int `json:"counts"` // every word is present
	Findings   []Finding    `json:"findings"`
	Incomplete []string     `json:"incomplete"` // evidence that is missing or unreadable
}

func newReport() *Report {
	r := &Report{Counts: map[Word]int{}, Findings: []Finding{}, Incomplete: []string{}}
	for _, w := range Words() {
		r.Counts[w] = 0
	}
	return r
}

// OK says that the evidence is complete and shows no broken promise.
func (r *Report) OK() bool {
	for _, n := range r.Counts {
		if n > 0 {
			return false
		}
	}
	return len(r.Incomplete) == 0
}

func (r *Report) add(f Finding) {
	r.Counts[f.Word]++
	if r.Counts[f.Word] <= shownPerWord {
		r.Findings = append(r.Findings, f)
	}
}

func (r *Report) incomplete(format string, args ...any) {
	if len(r.Incomplete) < shownPerWord {
		r.Incomplete = append(r.Incomplete, fmt.Sprintf(format, args...))
	}
}

// view is the JSON form: the report with its verdict.
type view struct {
	OK bool `json:"ok"`
	Report
}

// WriteJSON prints the report as one line of JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	line, err := wire.Marshal(view{OK: r.OK(), Report: *r})
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// ParseReport reads what WriteJSON printed. A report that does not count every word, or counts fewer than it shows, is no
// report: half an answer must not pass for a verdict.
func ParseReport(line []byte) (*Report, error) {
	var v view
	if err := wire.Unmarshal(line, &v); err != nil {
		return nil, fmt.Errorf("checker report: %w", err)
	}
	if v.OK != v.Report.OK() {
		return nil, fmt.Errorf("checker report: ok is %v and its findings say %v", v.OK, v.Report.OK())
	}
	if err := v.check(); err != nil {
		return nil, err
	}
	return &v.Report, nil
}

// check holds the report to what newReport and add make.
func (r *Report) check() error {
	shown := map[Word]int{}
	for _, f := range r.Findings {
		shown[f.Word]++
	}
	for _, word := range Words() {
		n, counted := r.Counts[word]
		if !counted || shown[word] != min(n, shownPerWord) {
			return fmt.Errorf("checker report: %s is counted %d times and shown %d times", word, n, shown[word])
		}
		delete(shown, word)
	}
	if len(shown) > 0 || len(r.Counts) != len(Words()) {
		return errors.New("checker report: it has a word that is not in the list")
	}
	return nil
}

// WriteText prints what a person wants to read: totals, the verdict, then the findings.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	t := r.Totals
	fmt.Fprintf(&b, "%d clients sent %d messages (%d sends), %d told accepted, %d refused, %d deliveries, %d receipts\n",
		t.Clients, t.Sent, t.Sends, t.Accepted, t.Refused, t.Delivered, t.Receipts)
	fmt.Fprintf(&b, "%d journals hold %d events, %d of them chats\n", t.Hubs, t.Events, t.Records)
	for _, word := range Words() {
		fmt.Fprintf(&b, "  %-18s %d\n", word, r.Counts[word])
	}
	for _, what := range r.Incomplete {
		fmt.Fprintf(&b, "evidence is missing: %s\n", what)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s\n", f)
	}
	if r.OK() {
		b.WriteString("verdict: every promise kept\n")
	} else {
		b.WriteString("verdict: NOT OK\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String is the finding in one line.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", f.Word)
	for _, part := range []struct{ name, value string }{{"from", f.From}, {"to", f.To}, {"id", f.ID}, {"hub", f.Hub}} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s=%q", part.name, part.value)
		}
	}
	if f.Seq > 0 {
		fmt.Fprintf(&b, " seq=%d", f.Seq)
	}
	fmt.Fprintf(&b, ": %s", f.Detail)
	return b.String()
}
