package wire

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func reasonOf(err error) Reason {
	var e *FrameError
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// Design section 5: hub ids.
func TestParseHubID(t *testing.T) {
	for _, s := range []string{"a", "0", "hub-1", "Fleet.example.ORG", "a_b", "a.", strings.Repeat("a", 64)} {
		if id, err := ParseHubID(s); err != nil || string(id) != s {
			t.Errorf("%q: %q, %v", s, id, err)
		}
	}
	for _, s := range []string{"", "-a", ".a", "_a", "a b", "a@b", "a/b", "é", "a\n", strings.Repeat("a", 65)} {
		if _, err := ParseHubID(s); reasonOf(err) != ReasonInvalidHubID {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestSimilarHubIDs(t *testing.T) {
	for _, tc := range []struct {
		a, b HubID
		want bool
	}{
		{"hub-1", "hub-1", true},
		{"Hub.Example", "hub.eXample", true},
		{"hub-1", "hub-l", true},
		{"hub-I", "hub-1", true},
		{"hub-o", "hub-0", true},
		{"my_hub", "my-hub", true},
		{"modern", "modem", true},
		{"vvest", "west", true},
		{"hub-1", "hub-2", false},
		{"mail", "mall", false},
		{"a.b", "a-b", false},
		{"ab", "abc", false},
	} {
		if SimilarHubIDs(tc.a, tc.b) != tc.want || SimilarHubIDs(tc.b, tc.a) != tc.want {
			t.Errorf("%s and %s: want %v", tc.a, tc.b, tc.want)
		}
	}
}

// Design section 5: addresses are split at the last '@'.
func TestParseAddress(t *testing.T) {
	for s, want := range map[string]Address{
		"p/a":           {Name: "p/a"},
		" p/a@hub-2 ":   {Name: "p/a", Hub: "hub-2"},
		"a@b@hub-2":     {Name: "a@b", Hub: "hub-2"},
		"my agent@h.io": {Name: "my agent", Hub: "h.io"},
	} {
		got, err := ParseAddress(s)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
		if again, _ := ParseAddress(got.String()); again != got {
			t.Errorf("%q does not come back from %q", s, got.String())
		}
	}
	for _, s := range []string{
		"", "  ", "@", "@hub", "a@", "a@-hub", "a@hub/x", "*@hub", "p/*@hub", "p/[a]@hub", "p/?@hub", "a,b@hub", "all@hub",
		"a @hub", "a\x01@hub", strings.Repeat("x", 257), strings.Repeat("x", 257) + "@hub",
	} {
		if a, err := ParseAddress(s); reasonOf(err) != ReasonInvalidAddress {
			t.Errorf("%.20q: %+v, %v", s, a, err)
		}
	}
}

// Core-wire-v2 section 4 (reserved names) and design section 5.
func TestValidLocalName(t *testing.T) {
	for _, s := range []string{"a", "proj/seat", "proj/seat-rx", "my agent", "é", "日本/語", "synapse2", "a,b", "*", strings.Repeat("x", 256)} {
		if bad := ValidLocalName(s); bad != nil {
			t.Errorf("%q: %s", s, bad.Text)
		}
	}
	for s, want := range map[string]Reason{
		"SynapseHub": ReasonReservedIdentity, "synapse": ReasonReservedIdentity, "SYSTEM": ReasonReservedIdentity,
		"ſystem": ReasonReservedIdentity, " System ": ReasonReservedIdentity,
		"a@hub": ReasonReservedIdentity, "@": ReasonReservedIdentity,
		"": ReasonInvalidName, " a": ReasonInvalidName, "a\u00a0": ReasonInvalidName,
		"a\nb": ReasonInvalidName, "a\x7fb": ReasonInvalidName, "a\u0085b": ReasonInvalidName,
		"a\u200bb": ReasonInvalidName, "a\u200db": ReasonInvalidName, "a\u2060b": ReasonInvalidName, "\ufeffa": ReasonInvalidName,
		"a\u202eb": ReasonInvalidName, "a\u2066b": ReasonInvalidName, "a\u061cb": ReasonInvalidName, "a\u00adb": ReasonInvalidName,
		"a\ufe0fb": ReasonInvalidName, "a\u3164b": ReasonInvalidName, "a\u2028b": ReasonInvalidName, "a\ufffdb": ReasonInvalidName,
		"e\u0301": ReasonInvalidName, "\u212b": ReasonInvalidName,
		strings.Repeat("x", 257): ReasonInvalidName, strings.Repeat("é", 128) + "x": ReasonInvalidName,
	} {
		bad := ValidLocalName(s)
		if bad == nil || bad.Reason != want {
			t.Errorf("%q: %v, want %v", s, bad, want)
			continue
		}
		if c, ok := CloseOf(bad.Reason); !ok || c.Code != 4009 || c.Text != "reserved identity" {
			t.Errorf("%q closes with %+v", s, c)
		}
	}
}

func TestProjectAndIdentity(t *testing.T) {
	for name, want := range map[string][3]string{
		"a":           {"a", "a", ""},
		"p/a":         {"p", "p/a", ""},
		"p/a/b":       {"p", "p/a/b", ""},
		"/a":          {"", "/a", ""},
		"p/a-rx":      {"p", "p/a", "sidecar"},
		"p/a-pane-rx": {"p", "p/a", "sidecar"},
		"p/a-rx-rx":   {"p", "p/a-rx", "sidecar"},
		"-rx":         {"-rx", "-rx", ""},
		"pane-rx":     {"pane-rx", "pane", "sidecar"},
	} {
		id, sidecar := LogicalIdentity(name)
		if got := [3]string{Project(name), id, map[bool]string{true: "sidecar"}[sidecar]}; got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Core-wire-v2 section 5: what a target is.
func TestCompileTarget(t *testing.T) {
	type view struct {
		Everybody, Directed bool
		Parts               []string
		Remote              []Address
	}
	for s, want := range map[string]view{
		"":               {Everybody: true, Parts: []string{}},
		"  ":             {Everybody: true, Parts: []string{}},
		" all ":          {Everybody: true, Parts: []string{}},
		"ALL":            {Directed: true, Parts: []string{"ALL"}},
		"all,p":          {Directed: true, Parts: []string{"all", "p"}},
		" p/b , p/c ,, ": {Directed: true, Parts: []string{"p/b", "p/c"}},
		",":              {Directed: true, Parts: []string{}},
		"p":              {Directed: true, Parts: []string{"p"}},
		"p/?":            {Directed: true, Parts: []string{"p/?"}},
		"p/[bc]":         {Directed: true, Parts: []string{"p/[bc]"}},
		"p/*":            {Parts: []string{"p/*"}},
		"p/b,q*":         {Parts: []string{"p/b", "q*"}},
		"p/b@h":          {Directed: true, Parts: []string{"p/b@h"}, Remote: []Address{{"p/b", "h"}}},
		"a@h, b ,c@-":    {Directed: true, Parts: []string{"a@h", "b", "c@-"}, Remote: []Address{{"a", "h"}, {"c@-", ""}}},
	} {
		c := CompileTarget(s)
		got := view{c.Everybody(), c.Directed(), c.Parts(), c.Remote()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
		if c.HasRemote() != (want.Remote != nil) {
			t.Errorf("%q: HasRemote %v", s, c.HasRemote())
		}
	}
}

// Core-wire-v2 section 5: whom a target matches.
func TestTargetMatches(t *testing.T) {
	for _, tc := range []struct {
		target, name string
		roles        []string
		want         bool
	}{
		{"all", "x", nil, true},
		{"p/b", "p/b", nil, true},
		{"p/b", "p/bc", nil, false},
		{"P/B", "p/b", nil, false},
		{"p", "p/b", nil, true},
		{"p", "p", nil, true},
		{"p/", "p/b", nil, false},
		{"p/coordinator", "p/b", []string{"p/coordinator"}, true},
		{"q/*", "p/b", []string{"q/r"}, true},
		{"p/*", "p/b/c", nil, true},
		{"p?b", "p/b", nil, true},
		{"p/[bc]", "p/c", nil, true},
		{"p/[!bc]", "p/c", nil, false},
		{"p/[b", "p/b", nil, false},
		{"p/[b", "p/[b", nil, true},
		{"x, p/b", "p/b", nil, true},
		{"p/b@h", "p/b", nil, false},
		{"p/b@h", "x", []string{"p/b@h"}, false},
		{"*@h", "x", []string{"p/b@h"}, false},
	} {
		c := CompileTarget(tc.target)
		if got := c.Matches(tc.name, tc.roles); got != tc.want {
			t.Errorf("%q, %q, %q: %v", tc.target, tc.name, tc.roles, got)
		}
	}
}

func wild() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("ab/*?[]!-é,@ ")), 0, 9, -1)
}

func plain() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("ab/é-[]@")), 0, 9, -1)
}

func TestTargetLikeNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if fault := targetFault(wild().Draw(t, "target"), plain().Draw(t, "name"), plain().Draw(t, "role"), targetMatches); fault != "" {
			t.Fatal(fault)
		}
	})
}

// Design section 5: may-reach patterns.
func TestPattern(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "a", true},
		{"*", "p/a", false},
		{"*", "", false},
		{"p/*", "p/a", true},
		{"p/*", "p", false},
		{"p/*", "p/", false},
		{"p/*", "p/a/b", false},
		{"p/*", "pp/a", false},
		{"p/a", "p/a", true},
		{"p/a", "P/a", false},
		{"p?a", "p/a", false},
		{"*/lead", "x/lead", true},
		{"*/*", "a/b", true},
		{"*/*", "a", false},
		{"p/a-?", "p/a-7", true},
		{"p/*", "p/a@hub", false},
		{"*", "a@b", false},
	} {
		p, err := ParsePattern(tc.pattern)
		if err != nil || p.String() != tc.pattern {
			t.Fatalf("%q: %v", tc.pattern, err)
		}
		if got := p.Matches(tc.name); got != tc.want {
			t.Errorf("%q, %q: %v", tc.pattern, tc.name, got)
		}
	}
	for _, s := range []string{
		"", "/", "p/", "/a", "p//a", "a,b", "p/[a]", "a]", "p/*@hub", "@", " p/a", "p/a ", "p/a b", "p/a\n", "p/\u200b*", strings.Repeat("x", 257),
	} {
		if p, err := ParsePattern(s); reasonOf(err) != ReasonInvalidPattern || p.Matches("p") || p.Matches("") {
			t.Errorf("%.20q: %v", s, err)
		}
	}
}

func TestPatternLikeNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if fault := patternFault(wild().Draw(t, "pattern"), plain().Draw(t, "name"), Pattern.Matches); fault != "" {
			t.Fatal(fault)
		}
	})
}

// Bracket expressions as shells read them (section 5).
func TestGlobSets(t *testing.T) {
	for _, tc := range []struct {
		pattern, in, out string
	}{
		{"[abc]", "abc", "d-["},
		{"[!abc]", "d-]", "abc"},
		{"[a-c]", "abc", "d-"},
		{"[a-]", "a-", "b"},
		{"[-a]", "a-", "b"},
		{"[c-a]", "", "abc-"},
		{"[]a]", "]a", "b"},
		{"[!]a]", "b", "]a"},
		{"[a-cx-z]", "abcxyz", "dw-"},
		{"[à-é]", "àé", "aë"},
		{"[[]", "[", "a"},
	} {
		for _, r := range tc.in {
			if !glob(tc.pattern, string(r)) || !naiveGlob([]rune(tc.pattern), []rune{r}, true) {
				t.Errorf("%s must match %c", tc.pattern, r)
			}
		}
		for _, r := range tc.out {
			if glob(tc.pattern, string(r)) || naiveGlob([]rune(tc.pattern), []rune{r}, true) {
				t.Errorf("%s must not match %c", tc.pattern, r)
			}
		}
	}
}

// Patterns built to make a glob try everything again stay quick: the cost is the
// product of the lengths, not a power of them.
func TestGlobIsNotExponential(t *testing.T) {
	if glob(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 20000)) {
		t.Error("matched")
	}
}

// The transcript of a lane is a format: these hashes must never change.
func TestLaneLink(t *testing.T) {
	l := LaneLink{
		Seq: 1, MsgID: 2, AcceptedUS: 1796063246832343, Sender: "proj/a", Principal: "token:t1", Target: "proj/b@hub-2",
		ClientMsgID: "m-1", Digest: [32]byte{1, 2, 3},
	}
	first := l.Next([32]byte{})
	second := LaneLink{Seq: 2}.Next(first)
	receipt, withdrawn := l, l
	receipt.Kind, withdrawn.Kind = LaneReceipt, LaneWithdrawn
	for i, tc := range []struct {
		got  [32]byte
		want string
	}{
		{first, "a9a63157518669101f0bc96967c01f5ccff687626fa9047a8d963e3fb4bd31fe"},
		{second, "2f4613285786e6823486d9f543ac06c2ff4b00b608d4c7f39c1b0a3ece6e4428"},
		{withdrawn.Next([32]byte{}), "a9a63157518669101f0bc96967c01f5ccff687626fa9047a8d963e3fb4bd31fe"},
		{receipt.Next([32]byte{}), "b424d196885c3ea204189bab923cf2f37fff09de505cc73bf1e77dc5eb81e6e1"},
	} {
		if hex.EncodeToString(tc.got[:]) != tc.want {
			t.Errorf("link %d: %x", i, tc.got)
		}
	}
}

// Every field counts, and no two neighbours can trade bytes.
func TestLaneLinkFields(t *testing.T) {
	seen := map[[32]byte]int{}
	for i, l := range []LaneLink{
		{},
		{Seq: 1},
		{MsgID: 1},
		{AcceptedUS: 1},
		{Sender: "ab"},
		{Sender: "a", Principal: "b"},
		{Principal: "ab"},
		{Principal: "a", Target: "b"},
		{Target: "ab"},
		{Target: "a", ClientMsgID: "b"},
		{ClientMsgID: "ab"},
		{Digest: [32]byte{1}},
		{Kind: LaneReceipt},
		{Sender: strings.Repeat("x", 2000)},
	} {
		h := l.Next([32]byte{})
		if j, ok := seen[h]; ok {
			t.Errorf("links %d and %d have one hash", i, j)
		}
		seen[h] = i
	}
	if (LaneLink{}).Next([32]byte{}) == (LaneLink{}).Next([32]byte{1}) {
		t.Error("the earlier hash does not count")
	}
}
