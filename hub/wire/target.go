package wire

import "strings"

// Target is the compiled target of a chat: who on this hub it names.
//
// It is split at commas, each part trimmed; blank or `all` as a whole is everybody.
// A part matches an agent if, as a case-sensitive glob (`*` also crosses '/', `?`,
// `[abc]`, `[!abc]`), it matches its name, its project or one of its roles. A part
// that holds '@' names a seat on another hub and never matches anybody here, not
// even through a role.
type Target struct {
	everybody bool
	directed  bool
	parts     []targetPart
}

type targetPart struct {
	text   string
	glob   bool
	remote bool
}

// CompileTarget compiles a target as sent. It never fails; see Inbound.Chat for the
// bounds.
func CompileTarget(s string) Target {
	whole := trim(s)
	if whole == "" || whole == TargetAll {
		return Target{everybody: true}
	}
	t := Target{directed: !strings.Contains(whole, "*")}
	if n := targetParts(whole); n > 1 {
		t.parts = make([]targetPart, 0, n)
	}
	for part := range strings.SplitSeq(whole, ",") {
		if part = trim(part); part != "" {
			t.parts = append(t.parts, targetPart{
				text:   part,
				glob:   isGlob(part),
				remote: strings.Contains(part, "@"),
			})
		}
	}
	return t
}

// Bounds of a chat's target. Every glob is compared with every online name, at a cost
// of up to the product of the lengths, so an unbounded one would be a lever on the
// whole hub.
const (
	MaxTargetParts     = 256
	MaxTargetPartBytes = MaxNameBytes + 1 + MaxHubIDBytes // NAME@HUB
	MaxTargetGlobs     = 16
	MaxTargetGlobBytes = 128
)

func targetBounded(s string) bool {
	if targetParts(s) > MaxTargetParts {
		return false
	}
	globs := 0
	for part := range strings.SplitSeq(s, ",") {
		part = trim(part)
		if !isGlob(part) {
			if len(part) > MaxTargetPartBytes {
				return false
			}
			continue
		}
		if globs++; globs > MaxTargetGlobs || len(part) > MaxTargetGlobBytes {
			return false
		}
	}
	return true
}

func targetParts(s string) int { return strings.Count(s, ",") + 1 }

func isGlob(part string) bool { return strings.ContainsAny(part, "*?[") }

// Everybody tells whether the target is blank or `all`.
func (t *Target) Everybody() bool { return t.everybody }

// Directed tells whether the chat counts for mailboxes, durable receipts and dead
// letters: not blank, not `all`, no `*` anywhere.
func (t *Target) Directed() bool { return t.directed }

// Parts returns the trimmed parts that are not empty, in order; none for everybody.
// The caller owns the slice.
func (t *Target) Parts() []string {
	out := make([]string, len(t.parts))
	for i := range t.parts {
		out[i] = t.parts[i].text
	}
	return out
}

// Matches tells whether an agent of that name and roles is addressed.
func (t *Target) Matches(name string, roles []string) bool {
	if t.everybody {
		return true
	}
	for i := range t.parts {
		if t.parts[i].addresses(name, roles) {
			return true
		}
	}
	return false
}

func (p *targetPart) addresses(name string, roles []string) bool {
	if p.remote {
		return false
	}
	if p.matches(name) || p.matches(Project(name)) {
		return true
	}
	for _, r := range roles {
		if p.matches(r) {
			return true
		}
	}
	return false
}

func (p *targetPart) matches(s string) bool {
	if p.glob {
		return glob(p.text, s)
	}
	return p.text == s
}

// HasRemote tells whether any part names a seat on another hub, well-formed or not.
func (t *Target) HasRemote() bool {
	for i := range t.parts {
		if t.parts[i].remote {
			return true
		}
	}
	return false
}

// Remote returns the addresses of the parts that hold '@'. A part that is no valid
// address comes with an empty Hub and its whole text as Name, so that it is refused
// and not forgotten.
func (t *Target) Remote() []Address {
	var out []Address
	for i := range t.parts {
		if !t.parts[i].remote {
			continue
		}
		a, err := ParseAddress(t.parts[i].text)
		if err != nil {
			a = Address{Name: t.parts[i].text}
		}
		out = append(out, a)
	}
	return out
}
