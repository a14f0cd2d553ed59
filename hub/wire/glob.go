package wire

import (
	"strings"
	"unicode/utf8"
)

// glob matches s against a shell pattern in which `*` crosses '/'. `[` without its
// closing bracket is a literal. Only the last star is ever tried again, so the cost
// is at most len(pattern) × len(s).
func glob(pattern, s string) bool {
	p, i := 0, 0
	star, retry := -1, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star, retry = p+1, i
			p++
			continue
		}
		if pn, sn, ok := globOne(pattern[p:], s[i:]); ok {
			p, i = p+pn, i+sn
			continue
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[retry:])
		retry += n
		p, i = star, retry
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// globOne matches the first element of pattern, not a star, with the first rune of
// s and returns how many bytes each took.
func globOne(pattern, s string) (pn, sn int, ok bool) {
	if pattern == "" {
		return 0, 0, false
	}
	r, sn := utf8.DecodeRuneInString(s)
	switch pattern[0] {
	case '?':
		return 1, sn, true
	case '[':
		if set, n, closed := globSet(pattern); closed {
			return n, sn, set.has(r)
		}
	}
	pr, pn := utf8.DecodeRuneInString(pattern)
	return pn, sn, pr == r && pn == sn
}

// runeSet is the inside of a bracket expression.
type runeSet struct {
	text   string
	negate bool
}

// globSet cuts the bracket expression that starts pattern. A ']' that comes first
// in the set belongs to it.
func globSet(pattern string) (set runeSet, n int, closed bool) {
	i := 1
	if strings.HasPrefix(pattern[i:], "!") {
		set.negate = true
		i++
	}
	start := i
	if strings.HasPrefix(pattern[i:], "]") {
		i++
	}
	end := strings.IndexByte(pattern[i:], ']')
	if end < 0 {
		return runeSet{}, 0, false
	}
	set.text = pattern[start : i+end]
	return set, i + end + 1, true
}

// has tells whether r is in the set; a-z is a range, an inverted range is empty.
func (s runeSet) has(r rune) bool {
	found := false
	for t := s.text; t != "" && !found; {
		from, n := utf8.DecodeRuneInString(t)
		to := from
		if t = t[n:]; len(t) > 1 && t[0] == '-' {
			to, n = utf8.DecodeRuneInString(t[1:])
			t = t[1+n:]
		}
		found = from <= r && r <= to
	}
	return found != s.negate
}
