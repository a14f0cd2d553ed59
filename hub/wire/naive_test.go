package wire

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// naiveParse is a second strict reader written for obviousness: one recursive
// descent that checks every rule where it stands. It is what the fast one is
// compared with.
func naiveParse(text string, maxDepth int) (members []Member, isObject bool, err error) {
	if !utf8.ValidString(text) {
		return nil, false, errNaive
	}
	p := &naive{s: text, maxDepth: maxDepth}
	defer func() {
		if r := recover(); r != nil {
			if r != any(errNaive) {
				panic(r)
			}
			members, isObject, err = nil, false, errNaive
		}
	}()
	p.space()
	isObject = p.peek() == '{'
	p.value(1)
	p.space()
	p.must(p.i == len(p.s))
	return p.top, isObject, nil
}

var errNaive = errors.New("refused by the naive reader")

type naive struct {
	s        string
	i        int
	maxDepth int
	top      []Member
}

func (p *naive) must(ok bool) {
	if !ok {
		panic(errNaive)
	}
}

func (p *naive) peek() byte {
	if p.i == len(p.s) {
		return 0
	}
	return p.s[p.i]
}

func (p *naive) take(c byte) bool {
	if p.i == len(p.s) || p.s[p.i] != c {
		return false
	}
	p.i++
	return true
}

func (p *naive) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *naive) value(depth int) {
	switch p.peek() {
	case '{':
		p.object(depth)
	case '[':
		p.array(depth)
	case '"':
		p.str()
	case 't', 'f', 'n':
		for _, word := range []string{"true", "false", "null"} {
			if strings.HasPrefix(p.s[p.i:], word) {
				p.i += len(word)
				return
			}
		}
		p.must(false)
	default:
		p.number()
	}
}

func (p *naive) object(depth int) {
	p.must(depth <= p.maxDepth)
	p.i++
	seen := map[string]bool{}
	p.space()
	for first := true; !p.take('}'); first = false {
		p.must(first || p.take(','))
		p.space()
		name := p.str()
		p.must(!seen[name])
		seen[name] = true
		p.space()
		p.must(p.take(':'))
		p.space()
		start := p.i
		p.value(depth + 1)
		if depth == 1 {
			p.top = append(p.top, Member{Name: name, Value: Raw(p.s[start:p.i])})
		}
		p.space()
	}
}

func (p *naive) array(depth int) {
	p.must(depth <= p.maxDepth)
	p.i++
	p.space()
	for first := true; !p.take(']'); first = false {
		p.must(first || p.take(','))
		p.space()
		p.value(depth + 1)
		p.space()
	}
}

func (p *naive) str() string {
	p.must(p.take('"'))
	var out strings.Builder
	for {
		p.must(p.i < len(p.s))
		c := p.s[p.i]
		p.i++
		switch {
		case c == '"':
			return out.String()
		case c < ' ':
			p.must(false)
		case c != '\\':
			out.WriteByte(c)
		default:
			p.escape(&out)
		}
	}
}

func (p *naive) escape(out *strings.Builder) {
	c := p.peek()
	p.i++
	if at := strings.IndexByte(`"\/bfnrt`, c); at >= 0 && c != 0 {
		out.WriteByte("\"\\/\b\f\n\r\t"[at])
		return
	}
	p.must(c == 'u')
	r := p.hex4()
	if utf16.IsSurrogate(r) {
		p.must(strings.HasPrefix(p.s[p.i:], `\u`))
		p.i += 2
		r = utf16.DecodeRune(r, p.hex4())
		p.must(r != utf8.RuneError)
	}
	out.WriteRune(r)
}

func (p *naive) hex4() rune {
	p.must(p.i+4 <= len(p.s))
	for _, c := range p.s[p.i : p.i+4] {
		p.must(strings.ContainsRune("0123456789abcdefABCDEF", c))
	}
	n, err := strconv.ParseUint(p.s[p.i:p.i+4], 16, 16)
	p.must(err == nil)
	p.i += 4
	return rune(n)
}

func (p *naive) digits() int {
	start := p.i
	for p.i < len(p.s) && '0' <= p.s[p.i] && p.s[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}

func (p *naive) number() {
	start, integer := p.i, true
	p.take('-')
	if !p.take('0') {
		p.must(p.digits() > 0)
	}
	if p.take('.') {
		integer = false
		p.must(p.digits() > 0)
	}
	if p.take('e') || p.take('E') {
		integer = false
		_ = p.take('+') || p.take('-')
		p.must(p.digits() > 0)
	}
	literal := p.s[start:p.i]
	if integer {
		p.must(len(strings.TrimPrefix(literal, "-")) <= 4300)
		return
	}
	f, _ := strconv.ParseFloat(literal, 64)
	p.must(!math.IsInf(f, 0))
}

// naiveGlob is the definition of a glob written as recursion over runes.
func naiveGlob(pattern, s []rune, cross bool) bool {
	if len(pattern) == 0 {
		return len(s) == 0
	}
	if pattern[0] == '*' {
		for n := 0; n <= len(s); n++ {
			if naiveGlob(pattern[1:], s[n:], cross) {
				return true
			}
			if n < len(s) && s[n] == '/' && !cross {
				return false
			}
		}
		return false
	}
	if len(s) == 0 {
		return false
	}
	if pattern[0] == '?' {
		return (cross || s[0] != '/') && naiveGlob(pattern[1:], s[1:], cross)
	}
	if pattern[0] == '[' {
		if in, rest, ok := naiveSet(pattern, s[0]); ok {
			return in && naiveGlob(rest, s[1:], cross)
		}
	}
	return pattern[0] == s[0] && naiveGlob(pattern[1:], s[1:], cross)
}

func naiveSet(pattern []rune, r rune) (in bool, rest []rune, ok bool) {
	i, negate := 1, false
	if i < len(pattern) && pattern[i] == '!' {
		negate = true
		i++
	}
	var set []rune
	for first := true; ; first = false {
		if i == len(pattern) {
			return false, nil, false
		}
		if pattern[i] == ']' && !first {
			break
		}
		set = append(set, pattern[i])
		i++
	}
	for j := 0; j < len(set); j++ {
		if j+2 < len(set) && set[j+1] == '-' {
			in = in || (set[j] <= r && r <= set[j+2])
			j += 2
			continue
		}
		in = in || set[j] == r
	}
	return in != negate, pattern[i+1:], true
}
