package wire

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Each body below returns what it found wrong, "" for nothing, and takes the
// function under test, so that a test can hand it a planted bug and see it found.

// parseFault compares a strict reader with the naive one.
func parseFault(text string, parse func([]byte, Limits) (Object, error)) string {
	lim := Limits{MaxDepth: 6}
	o, err := parse([]byte(text), lim)
	want, isObject, naiveErr := naiveParse(text, lim.MaxDepth)
	switch {
	case naiveErr != nil:
		if !errors.Is(err, ErrMalformed) {
			return fmt.Sprintf("%.200q must be malformed, got %v", text, err)
		}
	case !isObject:
		if !errors.Is(err, ErrNotObject) {
			return fmt.Sprintf("%.200q is no object, got %v", text, err)
		}
	case err != nil:
		return fmt.Sprintf("%.200q refused: %v", text, err)
	default:
		if diff := cmp.Diff(want, append([]Member(nil), o.Members...)); diff != "" {
			return fmt.Sprintf("%.200q (-naive +fast):\n%s", text, diff)
		}
	}
	return ""
}

func parseSeeds() []string {
	return []string{
		`{}`, `{"a":1}`, ` { "a" : "\"}" , "b":[{"c":-1.5e+3}]} `, `{"a":1,"\u0061":2}`, `[1]`, `null`, `{"a":1e999}`,
		`{"a":[[[[[[1]]]]]]}`, `{"a":[[[[[1]]]]]}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":tru}`, `{"a\\":"\\\\\"","b":2}`,
	}
}

func FuzzParseObject(f *testing.F) {
	for _, s := range parseSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if fault := parseFault(text, ParseObject); fault != "" {
			t.Fatal(fault)
		}
	})
}

// inboundFault checks everything that must hold of a frame an agent sent: what is
// read of it is normal, and the chat frame made of it is strict JSON in which the
// hub's members are the hub's and every other member kept its bytes.
func inboundFault(text string, chat func(*Inbound) (Chat, *FrameError)) string {
	in, bad := ParseInbound([]byte(text), Limits{})
	if bad != nil {
		return ""
	}
	h := in.Heartbeat()
	if trim(in.Sender) != in.Sender || strings.ToLower(string(in.Type)) != string(in.Type) || in.Type == "" || len(h.Roles) > MaxRoles {
		return fmt.Sprintf("%.200q read as %+v", text, in)
	}
	if a, ok := in.Ack(); ok && a.Seq == 0 {
		return "an ack of 0"
	}
	c, bad := chat(&in)
	if bad != nil {
		return ""
	}
	if sha256.Sum256(c.Body) != c.Digest {
		return "digest of another body"
	}
	got, err := ParseCarried(c.Body, Limits{})
	want := Carried{ClientMsgID: c.ClientMsgID, ClientTimestamp: c.ClientTimestamp, ReceiptRequested: c.ReceiptRequested, Answers: c.Answer != nil}
	if err != nil || got != want {
		return fmt.Sprintf("%.200q gives the body %.200q: %v %+v", text, c.Body, err, got)
	}
	return relayedFault(&in.Object, &c)
}

func relayedFault(sent *Object, c *Chat) string {
	f := ChatFrame{Sender: "s", Target: c.Target, HasTarget: c.HasTarget, HubID: "h", MsgID: 2, Seq: 3, TimeUS: 4, Body: c.Body}
	out, err := ParseObject(f.Append(nil), Limits{MaxBytes: 2 << 20})
	if err != nil {
		return "the relayed frame: " + err.Error()
	}
	for _, m := range sent.Members {
		if ownedByHub(m.Name) || m.Name == memberClientMsgID || m.Name == memberClientTimestamp {
			continue
		}
		if v, _ := out.Get(m.Name); !bytes.Equal(v, m.Value) {
			return fmt.Sprintf("member %q: %.100q became %.100q", m.Name, m.Value, v)
		}
	}
	return ownedFault(&out)
}

// ownedFault checks that the hub's members of a frame made with the values above are
// its own.
func ownedFault(o *Object) string {
	for name, want := range map[string]string{
		"sender": `"s"`, "type": `"chat"`, "hub_id": `"h"`, "msg_id": "2", "seq": "3", "timestamp": "0.000004", "token": "",
	} {
		if v, _ := o.Get(name); string(v) != want {
			return fmt.Sprintf("member %s is %q", name, v)
		}
	}
	return ""
}

func inboundSeeds() []string {
	return []string{
		`{"sender":" a ","type":" CHAT ","payload":{"a":1},"target":null}`,
		`{"type":"heartbeat","roles":["x"," x ",7,[],""],"since_seq":"12","wake_capability":"Pane-Bridge","mailbox":true}`,
		`{"type":"ack","seq":1}`, `{"type":"ack","seq":0}`, `{"seq":9,"msg_id":1,"token":"t","hub_id":"f","replayed":true,"payload":"\u0061"}`,
		`{"client_msg_id":" x ","client_timestamp":5,"timestamp":1.50,"receipt_requested":[0]}`,
		`{"response_to_seq":1,"response_status":"completed","response_evidence_scope":"recipient"}`, `{"channel":"c"}`,
	}
}

func FuzzInbound(f *testing.F) {
	for _, s := range inboundSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if fault := inboundFault(text, (*Inbound).Chat); fault != "" {
			t.Fatal(fault)
		}
	})
}

// targetFault compares target matching with the rule read literally (section 5).
func targetFault(target, name, role string, matches func(target, name, role string) bool) string {
	if len(target)+len(name)+len(role) > 60 || strings.Count(target, "*") > 6 ||
		!utf8.ValidString(target) || !utf8.ValidString(name) || !utf8.ValidString(role) {
		return "" // what the twin could not finish, or never comes from strict JSON
	}
	want := trim(target) == "" || trim(target) == "all"
	for part := range strings.SplitSeq(target, ",") {
		if part = trim(part); part == "" || strings.Contains(part, "@") {
			continue
		}
		for _, s := range []string{name, strings.SplitN(name, "/", 2)[0], role} {
			want = want || naiveGlob([]rune(part), []rune(s), true)
		}
	}
	if got := matches(target, name, role); got != want {
		return fmt.Sprintf("target %q, name %q, role %q: %v", target, name, role, got)
	}
	return ""
}

func targetMatches(target, name, role string) bool {
	t := CompileTarget(target)
	return t.Matches(name, []string{role})
}

func targetSeeds() [][3]string {
	return [][3]string{
		{"all", "a", ""},
		{" ", "a", ""},
		{"proj/*", "proj/a/b", ""},
		{"proj", "proj/a", ""},
		{"p/[bc]", "p/b", ""},
		{"p/[!bc]", "p/d", ""},
		{"p/[b", "p/[b", ""},
		{"[]a]", "]", ""},
		{"a-[a-c]?", "a-bx", ""},
		{"x , proj/r", "q", "proj/r"},
		{"*@hub", "a@hub", "b@hub"},
		{"é?", "éé", ""},
		{"*a*b*", "xaxxbx", ""},
		{"A", "a", ""},
		{"[z-a]", "b", ""},
		{"[!]", "[!]", ""},
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range targetSeeds() {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, target, name, role string) {
		if fault := targetFault(target, name, role, targetMatches); fault != "" {
			t.Fatal(fault)
		}
	})
}

// patternFault compares a may-reach pattern with its definition: a glob whose
// wildcards never cross a slash, over names without '@'.
func patternFault(pattern, name string, matches func(Pattern, string) bool) string {
	p, err := ParsePattern(pattern)
	if err != nil || len(pattern)+len(name) > 50 || strings.Count(pattern, "*") > 6 || !utf8.ValidString(name) {
		return ""
	}
	want := naiveGlob([]rune(pattern), []rune(name), false)
	for part := range strings.SplitSeq(name, "/") {
		want = want && part != "" && !strings.Contains(part, "@")
	}
	if got := matches(p, name); got != want {
		return fmt.Sprintf("pattern %q, name %q: %v", pattern, name, got)
	}
	return ""
}

func patternSeeds() [][2]string {
	return [][2]string{
		{"*", "a"},
		{"*", "a/b"},
		{"p/*", "p/a"},
		{"p/*", "p"},
		{"p/*", "p/a/b"},
		{"p/?", "p//"},
		{"p?a", "p/a"},
		{"*/*", "a/b"},
		{"p/*", "p/a@h"},
		{"*/lead", "x/lead"},
		{"p/a*b*", "p/aabb"},
		{"é*", "éx"},
		{"p/*", "p/"},
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range patternSeeds() {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if fault := patternFault(pattern, name, Pattern.Matches); fault != "" {
			t.Fatal(fault)
		}
	})
}

// carriedFault checks that a body which passes can be put into a frame without
// becoming anything else.
func carriedFault(body []byte, check func([]byte, Limits) error) string {
	if check(body, Limits{}) != nil {
		return ""
	}
	sent, err := ParseObject(body, Limits{})
	if err != nil {
		return "accepted, but no object: " + err.Error()
	}
	f := ChatFrame{Sender: "s", HubID: "h", MsgID: 2, Seq: 3, TimeUS: 4, Body: body}
	live, err := ParseObject(f.Append(nil), Limits{MaxBytes: 2 << 20})
	if err != nil {
		return "live frame: " + err.Error()
	}
	f.Replayed = true
	again, err := ParseObject(f.Append(nil), Limits{MaxBytes: 2 << 20})
	if err != nil {
		return "replayed frame: " + err.Error()
	}
	for _, m := range sent.Members {
		if v, _ := live.Get(m.Name); !bytes.Equal(v, m.Value) {
			return fmt.Sprintf("live member %q is %q", m.Name, v)
		}
		v, ok := again.Get(m.Name)
		if m.Name == memberReceiptRequested == ok || (ok && !bytes.Equal(v, m.Value)) {
			return fmt.Sprintf("replayed member %q is %q", m.Name, v)
		}
	}
	return ownedFault(&live) + ownedFault(&again)
}

func carriedSeeds() []string {
	return []string{
		`{}`, `{ }`, `{"payload":"x"}`, `{ "payload" : {"a":[ 1 ]} }`, `{"sender":"x"}`, `{"seq":1}`, `{"\u0073eq":1}`, `{"channel":"c"}`,
		`{"receipt_requested":true,"payload":1}`, `{"receipt_requeste\u0064":true}`, ` {"payload":1}`, `{"client_msg_id":" x "}`, `{"token":"t"}`,
	}
}

func FuzzCarried(f *testing.F) {
	for _, s := range carriedSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if fault := carriedFault(body, CheckCarried); fault != "" {
			t.Fatal(fault)
		}
	})
}

// Every fuzz body finds a planted bug among its own seeds, and nothing in what ships.
func TestFuzzBodiesFindPlantedBugs(t *testing.T) {
	deepReader := func(b []byte, l Limits) (Object, error) {
		l.MaxDepth++
		return ParseObject(b, l)
	}
	forged := func(in *Inbound) (Chat, *FrameError) {
		c, bad := in.Chat()
		if seq, ok := in.Object.Get(memberSeq); ok && bad == nil && len(c.Body) > 2 {
			c.Body = append(c.Body[:len(c.Body)-1], `,"seq":`+string(seq)+`}`...)
			c.Digest = sha256.Sum256(c.Body)
		}
		return c, bad
	}
	roleless := func(target, name, _ string) bool { return targetMatches(target, name, "") }
	crossing := func(p Pattern, name string) bool { return glob(p.String(), name) }
	anyObject := func(b []byte, l Limits) error {
		_, err := ParseObject(b, l)
		return err
	}
	for _, tc := range []struct {
		name         string
		sound, wrong func() []string
	}{
		{"parse", over(parseSeeds(), parseFault, ParseObject), over(parseSeeds(), parseFault, deepReader)},
		{"inbound", over(inboundSeeds(), inboundFault, (*Inbound).Chat), over(inboundSeeds(), inboundFault, forged)},
		{"target", over(targetSeeds(), target3, targetMatches), over(targetSeeds(), target3, roleless)},
		{"pattern", over(patternSeeds(), pattern2, Pattern.Matches), over(patternSeeds(), pattern2, crossing)},
		{"carried", over(carriedSeeds(), carried1, CheckCarried), over(carriedSeeds(), carried1, anyObject)},
		{"verdict", over(verdictSeeds(), verdictFault, parseVerdict), over(verdictSeeds(), verdictFault, unchecked(false))},
		{"verdicts", over(verdictsSeeds(), verdictsFault, ParseVerdicts), over(verdictsSeeds(), verdictsFault, disordered)},
		{"verdict within bounds", over(verdictSeeds(), verdictFault, parseVerdict), over(verdictSeeds(), verdictFault, unchecked(true))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if faults := tc.sound(); len(faults) > 0 {
				t.Errorf("what ships: %v", faults)
			}
			if len(tc.wrong()) == 0 {
				t.Error("the planted bug was not found")
			}
		})
	}
}

func over[S, F any](seeds []S, body func(S, F) string, under F) func() []string {
	return func() (faults []string) {
		for _, s := range seeds {
			if fault := body(s, under); fault != "" {
				faults = append(faults, fault)
			}
		}
		return faults
	}
}

func target3(s [3]string, m func(target, name, role string) bool) string {
	return targetFault(s[0], s[1], s[2], m)
}

func pattern2(s [2]string, m func(Pattern, string) bool) string { return patternFault(s[0], s[1], m) }

func carried1(s string, check func([]byte, Limits) error) string {
	return carriedFault([]byte(s), check)
}
