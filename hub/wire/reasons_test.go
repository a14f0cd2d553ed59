package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	snake    = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	planWord = regexp.MustCompile(`(?i)(issue|ticket|milestone|sprint|phase)[-_ ]?[0-9]+`)
)

// words returns the constants of one type declared in a file, in source order.
func words(t *testing.T, file, typ string) (names, values []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != typ {
			return true
		}
		for i, name := range spec.Names {
			value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names, values = append(names, name.Name), append(values, value)
		}
		return true
	})
	return names, values
}

// goName is the constant's name a word must have.
func goName(prefix, word string) string {
	upper := map[string]string{"json": "JSON", "id": "ID"}
	var b strings.Builder
	b.WriteString(prefix)
	for part := range strings.SplitSeq(word, "_") {
		if u, ok := upper[part]; ok {
			b.WriteString(u)
			continue
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func TestReasonsTableAndConstantsAgree(t *testing.T) {
	names, values := words(t, "reasons.go", "Reason")
	var listed []string
	seen := map[string]bool{}
	for _, r := range Reasons() {
		word := string(r.Word)
		listed = append(listed, word)
		if seen[word] {
			t.Errorf("%s is listed twice", word)
		}
		seen[word] = true
		checkSentence(t, word, r.Meaning)
		checkSentence(t, word, r.Next)
		if info, ok := Explain(r.Word); !ok || info != r {
			t.Errorf("Explain(%s) is %+v", word, info)
		}
	}
	if diff := cmp.Diff(values, listed); diff != "" {
		t.Errorf("constants and table differ in words or order (-constants +table):\n%s", diff)
	}
	for i, word := range values {
		if !snake.MatchString(word) || planWord.MatchString(word) {
			t.Errorf("%q is no fit word", word)
		}
		if want := goName("Reason", word); names[i] != want {
			t.Errorf("the constant of %s is %s, want %s", word, names[i], want)
		}
	}
	if _, ok := Explain("no_such_word"); ok {
		t.Error("an unlisted word was explained")
	}
}

func checkSentence(t *testing.T, word, s string) {
	t.Helper()
	if len(s) < 10 || !strings.HasSuffix(s, ".") || planWord.MatchString(s) {
		t.Errorf("%s: %q is no sentence", word, s)
	}
}

func TestTypesListsAndConstantsAgree(t *testing.T) {
	_, frames := words(t, "types.go", "FrameType")
	listed := map[string]bool{}
	for _, l := range [][]FrameType{AgentFrameTypes(), HubFrameTypes()} {
		for _, f := range l {
			listed[string(f)] = true
		}
	}
	if len(frames) != len(listed) {
		t.Errorf("%d constants, %d listed types", len(frames), len(listed))
	}
	for _, f := range frames {
		if !listed[f] || !snake.MatchString(f) {
			t.Errorf("%s is not listed or no fit word", f)
		}
	}
	_, links := words(t, "types.go", "LinkType")
	var got []string
	for _, l := range LinkTypes() {
		got = append(got, string(l))
	}
	if diff := cmp.Diff(links, got); diff != "" {
		t.Error(diff)
	}
	if !TypeAck.FromAgent() || TypeWelcome.FromAgent() || FrameType("claim").FromAgent() {
		t.Error("FromAgent")
	}
}

// Core-wire-v2 section 15: codes and texts public clients tell apart.
func TestCloseOf(t *testing.T) {
	want := map[Reason]Close{
		ReasonHubShutdown:            {Code: 1001},
		ReasonMessageTooLarge:        {Code: 1009, Text: "message too large"},
		ReasonInternalError:          {Code: 1011, Text: "internal error"},
		ReasonPingTimeout:            {Code: 1011, Text: "ping timeout"},
		ReasonSlowReader:             {Code: 1013, Text: "slow reader"},
		ReasonNameConflict:           {Code: 4009, Text: "name conflict"},
		ReasonNameSwitch:             {Code: 4009, Text: "name switch"},
		ReasonReservedIdentity:       {Code: 4009, Text: "reserved identity"},
		ReasonInvalidName:            {Code: 4009, Text: "reserved identity"},
		ReasonAuthDenied:             {Code: 4010, Text: "auth denied"},
		ReasonTokenRequired:          {Code: 4010, Text: "auth denied"},
		ReasonTokenInvalid:           {Code: 4010, Text: "auth denied"},
		ReasonTokenNotForName:        {Code: 4010, Text: "auth denied"},
		ReasonAuthRequired:           {Code: 4010, Text: "auth required"},
		ReasonRegistrationRequired:   {Code: 4010, Text: "registration required"},
		ReasonSuperseded:             {Code: 4010, Text: "superseded"},
		ReasonAuthTimeout:            {Code: 4012, Text: "auth timeout"},
		ReasonRegistrationTimeout:    {Code: 4012, Text: "registration timeout"},
		ReasonHubAtCapacity:          {Code: 4013, Text: "hub at capacity"},
		ReasonTakeoverCooldown:       {Code: 4014, Text: "takeover cooldown"},
		ReasonTakeoverQuarantine:     {Code: 4014, Text: "takeover quarantine"},
		ReasonTooManyUnauthenticated: {Code: 4014, Text: "too many unauthenticated connections"},
		ReasonTooManyFromHost:        {Code: 4015, Text: "too many connections from host"},
	}
	for _, r := range Reasons() {
		got, ok := CloseOf(r.Word)
		c, closes := want[r.Word]
		c.Reason = r.Word
		if got != c || ok != closes {
			t.Errorf("%s: %+v, %v", r.Word, got, ok)
		}
		if len(got.Text) > 123 {
			t.Errorf("%s: a close frame has no room for its text", r.Word)
		}
	}
}
