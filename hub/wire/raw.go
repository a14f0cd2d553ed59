package wire

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Raw is one valid JSON value without surrounding space, aliasing the text it was
// parsed from. Its methods rely on the text having passed the strict reader; a nil
// Raw answers like an absent member.
type Raw []byte

// Kind is 'n' null, 't' true, 'f' false, '"' string, '0' number, '{' object,
// '[' array, and 0 for a nil Raw.
func (r Raw) Kind() byte {
	if len(r) == 0 {
		return 0
	}
	if r[0] == '-' || isDigit(r[0]) {
		return '0'
	}
	return r[0]
}

// Text returns the decoded string; ok is false for every other kind.
func (r Raw) Text() (s string, ok bool) {
	if r.Kind() != '"' {
		return "", false
	}
	inner := r[1 : len(r)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	out, err := jsontext.AppendUnquote(nil, []byte(r))
	return string(out), err == nil
}

// Int returns the value of an integer literal that fits; ok is false for other
// kinds, for literals with a fraction or an exponent, and for larger numbers.
func (r Raw) Int() (n int64, ok bool) {
	if r.Kind() != '0' || !isInteger(r) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(r), 10, 64)
	return n, err == nil
}

// Float returns a finite number; ok is false for other kinds and for a literal
// that overflows a double.
func (r Raw) Float() (f float64, ok bool) {
	if r.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(r), 64)
	return f, err == nil
}

// Bool returns the value of true or false; ok is false for every other kind.
func (r Raw) Bool() (v, ok bool) {
	k := r.Kind()
	return k == 't', k == 't' || k == 'f'
}

// IsNull tells whether the value is the literal null.
func (r Raw) IsNull() bool { return r.Kind() == 'n' }

// Truthy is Python's truth of a JSON value, which is how public clients' boolean
// flags are read: null, false, zero, "", [] and {} are false.
func (r Raw) Truthy() bool {
	switch r.Kind() {
	case 't':
		return true
	case '"':
		return len(r) > 2
	case '0':
		f, err := strconv.ParseFloat(string(r), 64)
		return f != 0 || err != nil // an integer too large for a double is not zero
	case '{', '[':
		return skipSpace(r, 1) < len(r)-1
	}
	return false
}

// MarshalJSON hands the raw value through; a nil Raw is null.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of the value's bytes.
func (r *Raw) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}
