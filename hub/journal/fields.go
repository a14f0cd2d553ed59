package journal

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Records are protobuf fields without a schema compiler: single fields in ascending order, zero values left out,
// repeated fields adjacent. That is one byte string per value, so parsing and appending again gives the same bytes.

var (
	errField     = errors.New("journal: field is malformed, out of order or not canonical")
	errUnknown   = errors.New("journal: unknown field")
	errIncomplet = errors.New("journal: required field is missing or has an unknown value")
)

// checker is a record with a rule beyond its fields' shapes.
type checker interface{ check() error }

// parser makes a record type's parse function from its field method.
func parser[T any](field func(*T, *decoder, protowire.Number)) func([]byte, bool) (any, error) {
	return func(attrs []byte, lax bool) (any, error) { return parse(attrs, lax, field) }
}

func parse[T any](attrs []byte, lax bool, field func(*T, *decoder, protowire.Number)) (T, error) {
	var rec T
	d := decoder{rest: attrs, lax: lax}
	for len(d.rest) > 0 && d.err == nil {
		num, typ, n := protowire.ConsumeTag(d.rest)
		if n < 0 || !num.IsValid() || num < d.last || protowire.SizeTag(num) != n {
			d.err = errField
			break
		}
		d.repeated, d.last, d.typ, d.rest = num == d.last, num, typ, d.rest[n:]
		field(&rec, &d, num)
	}
	if c, ok := any(&rec).(checker); ok && d.err == nil {
		d.err = c.check()
	}
	if d.err != nil {
		var zero T
		return zero, fmt.Errorf("%T, field %d: %w", rec, d.last, d.err)
	}
	return rec, nil
}

// decoder hands a record's field method the value of the current field.
type decoder struct {
	rest     []byte
	err      error
	last     protowire.Number
	typ      protowire.Type
	repeated bool // the field before had the same number
	lax      bool // the event's format allows unknown fields
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// bytes consumes a length-delimited value, aliasing the input.
func (d *decoder) bytes() []byte {
	v, n := protowire.ConsumeBytes(d.rest)
	if d.typ != protowire.BytesType || n < 0 || protowire.SizeBytes(len(v)) != n {
		d.fail(errField)
		return nil
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) single(zero bool) {
	if d.repeated || zero {
		d.fail(errField)
	}
}

// text is a non-empty string that occurs once.
func (d *decoder) text() string {
	v := d.bytes()
	d.single(len(v) == 0)
	return string(v)
}

// presentText is a string whose presence is itself a fact, so it may be empty.
func (d *decoder) presentText() string {
	v := d.bytes()
	d.single(false)
	return string(v)
}

// texts adds one element of a repeated string.
func (d *decoder) texts(to *[]string) { *to = append(*to, string(d.bytes())) }

func (d *decoder) varint() uint64 {
	v, n := protowire.ConsumeVarint(d.rest)
	if d.typ != protowire.VarintType || n < 0 || protowire.SizeVarint(v) != n {
		d.fail(errField)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// uint is a non-zero number that occurs once.
func (d *decoder) uint() uint64 {
	v := d.varint()
	d.single(v == 0)
	return v
}

func (d *decoder) int() int64 { return int64(d.uint()) }

// flag is a true that occurs once.
func (d *decoder) flag() bool {
	v := d.uint()
	if v > 1 {
		d.fail(errField)
	}
	return v == 1
}

// fixed fills a value of exactly len(to) bytes that occurs once and is not all zero.
func (d *decoder) fixed(to []byte) {
	v := d.bytes()
	d.single(len(v) != len(to) || allZero(v))
	copy(to, v)
}

// unknown skips a field this build does not know, if the event's format allows it.
func (d *decoder) unknown() {
	if !d.lax {
		d.fail(errUnknown)
		return
	}
	n := protowire.ConsumeFieldValue(d.last, d.typ, d.rest)
	if n < 0 {
		d.fail(errField)
		return
	}
	d.rest = d.rest[n:]
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func appendText(dst []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return appendPresentText(dst, num, s)
}

func appendPresentText(dst []byte, num protowire.Number, s string) []byte {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return protowire.AppendString(dst, s)
}

func appendTexts(dst []byte, num protowire.Number, list []string) []byte {
	for _, s := range list {
		dst = appendPresentText(dst, num, s)
	}
	return dst
}

func appendBytes(dst []byte, num protowire.Number, b []byte) []byte {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return protowire.AppendBytes(dst, b)
}

func appendFixed(dst []byte, num protowire.Number, b []byte) []byte {
	if allZero(b) {
		return dst
	}
	return appendBytes(dst, num, b)
}

func appendUint(dst []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, num, protowire.VarintType)
	return protowire.AppendVarint(dst, v)
}

func appendFlag(dst []byte, num protowire.Number, v bool) []byte {
	if !v {
		return dst
	}
	return appendUint(dst, num, 1)
}
