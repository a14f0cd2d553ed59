package wire

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// CodecMaxBytes bounds what Unmarshal and UnmarshalLax read: local files, exports
// and the admin socket carry more than one frame in a text.
const CodecMaxBytes = 64 << 20

// Marshal encodes v on one line, maps in the order of their keys.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true))
}

// MarshalIndent encodes v over several lines, two spaces a level.
func MarshalIndent(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
}

// Unmarshal decodes one strict JSON text of at most CodecMaxBytes into v; names are
// compared exactly and a member v does not have is refused. null leaves the zero
// value: a schema for which that matters must use a pointer or Raw. Errors are
// *JSONError without any of the text.
func Unmarshal(b []byte, v any) error {
	return unmarshal(b, v, json.RejectUnknownMembers(true))
}

// UnmarshalLax is Unmarshal that ignores members v does not have.
func UnmarshalLax(b []byte, v any) error { return unmarshal(b, v) }

func unmarshal(b []byte, v any, opts ...json.Options) error {
	if err := check(b, Limits{MaxBytes: CodecMaxBytes}); err != nil {
		return err
	}
	err := json.Unmarshal(b, v, opts...)
	if err == nil {
		return nil
	}
	out := &JSONError{Reason: ReasonMalformedFrame, Rule: RuleShape, Offset: -1}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		out.Offset = int(semantic.ByteOffset)
	}
	return out
}

// AppendString appends s as a JSON string in its shortest form. Bytes that are not
// UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if isPlain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	// The only error reports that replacement, which is what we want.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// isPlain says that s stands in JSON as it is: most do, and this is a fraction of what
// quoting takes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// AppendSeconds appends us microseconds as seconds with six decimals.
func AppendSeconds(dst []byte, us int64) []byte {
	abs := uint64(us)
	if us < 0 {
		dst = append(dst, '-')
		abs = -abs
	}
	dst = strconv.AppendUint(dst, abs/1e6, 10)
	frac := abs % 1e6
	dst = append(dst, '.')
	for div := uint64(1e5); div > 0; div /= 10 {
		dst = append(dst, byte('0'+frac/div%10))
	}
	return dst
}

func appendMember(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func appendText(dst []byte, name, value string) []byte {
	return AppendString(appendMember(dst, name), value)
}

func appendUint(dst []byte, name string, value uint64) []byte {
	return strconv.AppendUint(appendMember(dst, name), value, 10)
}

func appendInt(dst []byte, name string, value int) []byte {
	return strconv.AppendInt(appendMember(dst, name), int64(value), 10)
}

func appendBool(dst []byte, name string, value bool) []byte {
	return strconv.AppendBool(appendMember(dst, name), value)
}

func appendList(dst []byte, name string, values []string) []byte {
	return appendStrings(appendMember(dst, name), values)
}

func appendStrings(dst []byte, values []string) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, v)
	}
	return append(dst, ']')
}
