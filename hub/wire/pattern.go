package wire

import (
	"strings"
	"unicode"
)

// Pattern is one may-reach pattern: PROJECT/SEAT or NAME. It is matched on the parts
// of a name between slashes, one by one, so `*` and `?` never cross '/': `p/*` is
// every seat of project p and not the bare name p, and a bare `*` is every name
// without '/'. The zero Pattern matches nothing.
type Pattern struct {
	text string
}

// ParsePattern checks a pattern. Refused are empty parts, lists, `[`, '@', white
// space, control characters and more than 256 bytes. The error is a *FrameError
// with invalid_pattern.
func ParsePattern(s string) (Pattern, error) {
	bad := s == "" || len(s) > MaxNameBytes || strings.ContainsAny(s, ",[]@") ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || hidden(r) })
	for part := range strings.SplitSeq(s, "/") {
		bad = bad || part == ""
	}
	if bad {
		return Pattern{}, &FrameError{Reason: ReasonInvalidPattern, Text: "A pattern is PROJECT/SEAT or NAME, with * and ? inside a part; lists, [ and @ are refused."}
	}
	return Pattern{text: s}, nil
}

// String is the pattern as parsed.
func (p Pattern) String() string { return p.text }

// Matches tells whether the pattern grants a local name of the hub it is for. A name
// holding '@' is none and never matches.
func (p Pattern) Matches(name string) bool {
	if p.text == "" || name == "" || strings.Contains(name, "@") {
		return false
	}
	if strings.Count(p.text, "/") != strings.Count(name, "/") {
		return false
	}
	pattern, rest := p.text, name
	for {
		pp, ptail, more := strings.Cut(pattern, "/")
		np, ntail, _ := strings.Cut(rest, "/")
		if np == "" || !glob(pp, np) {
			return false
		}
		if !more {
			return true
		}
		pattern, rest = ptail, ntail
	}
}
