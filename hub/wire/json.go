package wire

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of one JSON text when [Limits] does not say otherwise.
const (
	// DefaultMaxBytes is the largest frame, 1 MiB.
	DefaultMaxBytes = 1 << 20
	// DefaultMaxDepth counts nested arrays and objects, the frame itself being
	// level 1.
	DefaultMaxDepth = 64
	// MaxIntegerDigits bounds an integer literal, its sign not counted.
	MaxIntegerDigits = 4300
)

// Limits bounds one JSON text. Zero or negative fields mean the defaults.
type Limits struct {
	MaxBytes int // largest text in bytes, default 1 MiB
	MaxDepth int // deepest nesting, default 64
}

func (l Limits) orDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	return l
}

// Rule names the strictness rule a JSON text broke.
type Rule string

// The rules of the strict reader.
const (
	RuleSyntax    Rule = "not one valid JSON text in UTF-8"
	RuleDuplicate Rule = "member name twice in one object"
	RuleDepth     Rule = "nested too deep"
	RuleNumber    Rule = "number too large"
	RuleObject    Rule = "not a JSON object"
	RuleSize      Rule = "text too large"
	RuleShape     Rule = "member unknown or of another kind"
	RuleOwned     Rule = "member belongs to the hub"
	RuleMember    Rule = "member malformed"
)

// JSONError is a refused JSON text. It never holds any of the text.
type JSONError struct {
	Reason Reason // malformed_json, malformed_frame or message_too_large
	Rule   Rule   // what was broken
	Offset int    // byte offset at which it was noticed, -1 when not known
}

// Error names reason, rule and offset.
func (e *JSONError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s", e.Reason, e.Rule)
	}
	return fmt.Sprintf("%s: %s at byte %d", e.Reason, e.Rule, e.Offset)
}

// Is makes errors.Is(err, ErrMalformed) and the like compare by reason, and also
// by rule where the target names one.
func (e *JSONError) Is(target error) bool {
	t, ok := target.(*JSONError)
	return ok && t.Reason == e.Reason && (t.Rule == "" || t.Rule == e.Rule)
}

// Targets for errors.Is; what is returned also names rule and offset.
var (
	// ErrMalformed matches every text the strict reader refused.
	ErrMalformed = &JSONError{Reason: ReasonMalformedJSON, Offset: -1}
	// ErrNotObject matches valid JSON that is not an object.
	ErrNotObject = &JSONError{Reason: ReasonMalformedFrame, Offset: -1}
	// ErrTooLarge matches a text above Limits.MaxBytes.
	ErrTooLarge = &JSONError{Reason: ReasonMessageTooLarge, Offset: -1}
)

// Member is one name and value of an object. Value aliases the parsed text.
type Member struct {
	Name  string
	Value Raw
}

// Object is a parsed JSON object: its members in the order of the text, each name
// once.
type Object struct {
	Members []Member
}

// Get returns the value of the member of exactly that name.
func (o *Object) Get(name string) (Raw, bool) {
	for i := range o.Members {
		if o.Members[i].Name == name {
			return o.Members[i].Value, true
		}
	}
	return nil, false
}

// value is Get with null read as absent, which is what the wire says for text
// fields and what keeps null from ever widening anything.
func (o *Object) value(name string) (Raw, bool) {
	v, ok := o.Get(name)
	if !ok || v.IsNull() {
		return nil, false
	}
	return v, true
}

// text is the string member of that name; absent, null or another kind is "".
func (o *Object) text(name string) string {
	v, _ := o.value(name)
	s, _ := v.Text()
	return s
}

// ParseObject reads one strict JSON object: valid UTF-8, no lone surrogates, no
// name twice in one object at any depth, no number that overflows a double, no
// integer literal above MaxIntegerDigits, at most lim.MaxDepth levels. Values stay
// raw and alias b. Errors are *JSONError: ErrMalformed, ErrNotObject, ErrTooLarge.
func ParseObject(b []byte, lim Limits) (Object, error) {
	if err := check(b, lim); err != nil {
		return Object{}, err
	}
	i := skipSpace(b, 0)
	if b[i] != '{' {
		return Object{}, &JSONError{Reason: ReasonMalformedFrame, Rule: RuleObject, Offset: i}
	}
	return Object{Members: members(b, i)}, nil
}

// check applies every rule of the strict reader that does not depend on the kind
// of the value. The codec checks grammar, UTF-8, surrogates and names; depth and
// numbers are left to us because it hands them through in raw values.
func check(b []byte, lim Limits) error {
	lim = lim.orDefaults()
	if len(b) > lim.MaxBytes {
		return &JSONError{Reason: ReasonMessageTooLarge, Rule: RuleSize, Offset: lim.MaxBytes}
	}
	if !jsontext.Value(b).IsValid() {
		return diagnose(b)
	}
	if rule, at := scan(b, lim.MaxDepth); rule != "" {
		return &JSONError{Reason: ReasonMalformedJSON, Rule: rule, Offset: at}
	}
	return nil
}

// diagnose finds out why the codec refused a text. It runs on refusals only, so
// the fast path need not collect what it would say.
func diagnose(b []byte) error {
	d := jsontext.NewDecoder(&sliceReader{b})
	_, err := d.ReadValue()
	if err == nil {
		_, err = d.ReadToken()
	}
	out := &JSONError{Reason: ReasonMalformedJSON, Rule: RuleSyntax, Offset: int(d.InputOffset())}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		out.Offset = int(syntax.ByteOffset)
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		out.Rule = RuleDuplicate
	}
	return out
}

type sliceReader struct{ b []byte }

func (r *sliceReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}
