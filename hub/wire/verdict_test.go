package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// verdicts are one of each state as they stand on a link: the bytes are a format.
var verdicts = map[string]Verdict{
	`{"lane_seq":7,"state":"delivered","hub_seq":44,"hub_msg_id":12,"recipients":["proj/b"],"stale":[],"wake":{"proj/b":"direct"},"reason":"","dead_lettered":false}`: {
		LaneSeq: 7, State: VerdictDelivered, HubSeq: 44, HubMsgID: 12, Recipients: []string{"proj/b"}, Wake: []NameWake{{"proj/b", "direct"}},
	},
	`{"lane_seq":7,"state":"pending","hub_seq":44,"hub_msg_id":12,"recipients":[],"stale":["proj/b"],"wake":{"proj/b":"unknown"},"reason":"no_live_recipient","dead_lettered":true}`: {
		LaneSeq: 7, State: VerdictPending, HubSeq: 44, HubMsgID: 12, Stale: []string{"proj/b"}, Wake: []NameWake{{"proj/b", "unknown"}},
		Reason: ReasonNoLiveRecipient, DeadLettered: true,
	},
	`{"lane_seq":7,"state":"pending","hub_seq":44,"hub_msg_id":12,"recipients":[],"stale":[],"wake":{},"reason":"no_online_recipient","dead_lettered":true}`: {
		LaneSeq: 7, State: VerdictPending, HubSeq: 44, HubMsgID: 12, Reason: ReasonNoOnlineRecipient, DeadLettered: true,
	},
	`{"lane_seq":7,"state":"deferred","hub_seq":44,"hub_msg_id":12,"recipients":["é\n"],"stale":[],"wake":{},"reason":"","dead_lettered":false}`: {
		LaneSeq: 7, State: VerdictDeferred, HubSeq: 44, HubMsgID: 12, Recipients: []string{"é\n"},
	},
	`{"lane_seq":9007199254740991,"state":"expired","hub_seq":1,"hub_msg_id":1,"recipients":[],"stale":[],"wake":{},"reason":"pending_window_evicted","dead_lettered":false}`: {
		LaneSeq: 1<<53 - 1, State: VerdictExpired, HubSeq: 1, HubMsgID: 1, Reason: ReasonPendingWindowEvicted,
	},
}

// parseVerdict reads a list of one.
func parseVerdict(b []byte) (Verdict, error) {
	list, err := ParseVerdicts([]byte(litVerdicts + string(b) + litVerdictsEnd))
	if err != nil {
		return Verdict{}, err
	}
	if len(list) != 1 {
		return Verdict{}, badVerdict()
	}
	return list[0], nil
}

// aList is verdicts on so many chats, with the seat as its only name.
func aList(n int, seat string) (out []Verdict) {
	for i := range n {
		out = append(out, Verdict{LaneSeq: uint64(i + 1), State: VerdictDeferred, HubSeq: 1, HubMsgID: 1, Recipients: []string{seat}})
	}
	return out
}

// A record has verdicts in the order of their chats, each chat once, and as many as may.
func TestVerdicts(t *testing.T) {
	full := aList(MaxVerdicts, "proj/b")
	body := AppendVerdicts(nil, full)
	got, err := ParseVerdicts(body)
	if diff := cmp.Diff(full, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for name, bad := range map[string][]byte{
		"none":         AppendVerdicts(nil, nil),
		"too many":     AppendVerdicts(nil, aList(MaxVerdicts+1, "proj/b")),
		"too long":     AppendVerdicts(nil, aList(MaxVerdicts, strings.Repeat("x", MaxNameBytes))),
		"one twice":    AppendVerdicts(nil, []Verdict{full[0], full[0]}),
		"out of order": AppendVerdicts(nil, []Verdict{full[1], full[0]}),
		"a comma more": []byte(strings.Replace(string(body), "]}", ",]}", 1)),
		"two lists":    append(body, body...),
		"one alone":    full[0].Append(nil),
		"a word that is the origin's": AppendVerdicts(nil, []Verdict{
			{LaneSeq: 1, State: VerdictExpired, HubSeq: 1, HubMsgID: 1, Reason: ReasonRelayExpired},
		}),
	} {
		if list, err := ParseVerdicts(bad); err == nil {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// verdictsFault is verdictFault of a whole body.
func verdictsFault(b string, parse func([]byte) ([]Verdict, error)) string {
	list, err := parse([]byte(b))
	switch {
	case err != nil:
		if e, ok := errors.AsType[*JSONError](err); !ok || e.Reason != ReasonMalformedReceipt {
			return fmt.Sprintf("refused without its own word: %v", err)
		}
	case string(AppendVerdicts(nil, list)) != b:
		return fmt.Sprintf("accepted %s, which is written otherwise", b)
	case checkVerdicts(list) != nil || len(list) == 0 || len(list) > MaxVerdicts || len(b) > MaxVerdictsBytes:
		return fmt.Sprintf("accepted %s, which is no list of verdicts", b)
	}
	return ""
}

func verdictsSeeds() (out []string) {
	for _, one := range verdictSeeds() {
		out = append(out, litVerdicts+one+litVerdictsEnd)
	}
	two := aList(2, "proj/b")
	return append(
		out, "", litVerdicts+litVerdictsEnd, string(AppendVerdicts(nil, two)), string(AppendVerdicts(nil, []Verdict{two[1], two[0]})),
		string(AppendVerdicts(nil, two))+" ",
	)
}

// disordered takes verdicts in any order.
func disordered(b []byte) ([]Verdict, error) {
	list, err := ParseVerdicts(b)
	if len(list) > 1 {
		err = nil
	}
	return list, err
}

func FuzzVerdicts(f *testing.F) {
	for _, b := range verdictsSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b string) {
		if fault := verdictsFault(b, ParseVerdicts); fault != "" {
			t.Fatal(fault)
		}
	})
}

// What needs no quoting is written as the codec would write it.
func TestPlainStrings(t *testing.T) {
	for c := range 256 {
		s := "a" + string([]byte{byte(c)}) + "z"
		want, _ := jsontext.AppendQuote(nil, s)
		if got := AppendString(nil, s); string(got) != string(want) {
			t.Errorf("byte %#x: %s, want %s", c, got, want)
		}
	}
}

func TestVerdictGolden(t *testing.T) {
	for text, want := range verdicts {
		if got := string(want.Append(nil)); got != text {
			t.Errorf("appended %s\nwant     %s", got, text)
		}
		got, err := parseVerdict([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
		for n := range len(text) {
			if v, err := parseVerdict([]byte(text[:n])); err == nil {
				t.Errorf("cut at %d: %+v", n, v)
			}
		}
	}
}

// badVerdicts are what no hub says.
func badVerdicts() (out []string) {
	const good = `{"lane_seq":7,"state":"delivered","hub_seq":44,"hub_msg_id":12,"recipients":["proj/b"],"stale":[],"wake":{},"reason":"","dead_lettered":false}`
	for _, change := range [][2]string{
		{`"lane_seq":7`, `"lane_seq":0`},
		{`"lane_seq":7`, `"lane_seq":7.0`},
		{`"lane_seq":7`, `"lane_seq":9007199254740992`},
		{`"hub_seq":44,`, ``},
		{`"hub_seq":44`, `"hub_seq":null`},
		{`"hub_msg_id":12`, `"hub_msg_id":-1`},
		{`delivered`, `taken`},
		{`delivered`, `pending`},
		{`delivered`, `expired`},
		{`["proj/b"]`, `[]`},
		{`["proj/b"]`, `["proj/b","proj/c"]`},
		{`["proj/b"]`, `[""]`},
		{`["proj/b"]`, `[null]`},
		{`["proj/b"]`, `["` + strings.Repeat("x", MaxNameBytes+1) + `"]`},
		{`"stale":[]`, `"stale":["proj/b"]`},
		{`"wake":{}`, `"wake":{"proj/c":"direct"}`},
		{`"wake":{}`, `"wake":{"proj/b":1}`},
		{`"wake":{}`, `"wake":null`},
		{`"reason":""`, `"reason":"no_live_recipient"`},
		{`"reason":""`, `"reason":"Any Word"`},
		{`"dead_lettered":false`, `"dead_lettered":true`},
		{`"dead_lettered":false`, `"dead_lettered":0`},
		{`false}`, `false,"more":1}`},
		{`"state"`, ` "state"`},
		{`proj/b`, `proj\/b`},
		{`{"lane_seq"`, `{"lane_seq":7,"lane_seq"`},
	} {
		out = append(out, strings.Replace(good, change[0], change[1], 1))
	}
	return append(out, "", "null", "[]", good+" ")
}

// verdictFault holds that a verdict is refused with its own word, or is within bounds
// and the one encoding of itself.
func verdictFault(b string, parse func([]byte) (Verdict, error)) string {
	v, err := parse([]byte(b))
	if err != nil {
		if e, ok := errors.AsType[*JSONError](err); !ok || e.Reason != ReasonMalformedReceipt {
			return fmt.Sprintf("refused without its own word: %v", err)
		}
		return ""
	}
	if again := v.Append(nil); !bytes.Equal(again, []byte(b)) {
		return fmt.Sprintf("accepted %s, which is written %s", b, again)
	}
	if err := v.Check(); err != nil {
		return fmt.Sprintf("accepted %s, which is no verdict", b)
	}
	return ""
}

func verdictSeeds() []string {
	out := badVerdicts()
	for text := range verdicts {
		out = append(out, text)
	}
	return out
}

func TestBadVerdicts(t *testing.T) {
	for _, text := range badVerdicts() {
		if v, err := parseVerdict([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, v)
		}
	}
}

func FuzzVerdict(f *testing.F) {
	for _, b := range verdictSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b string) {
		if fault := verdictFault(b, parseVerdict); fault != "" {
			t.Fatal(fault)
		}
	})
}

// unchecked reads a verdict and judges only what it is told to.
func unchecked(canonical bool) func(b []byte) (Verdict, error) {
	return func(b []byte) (Verdict, error) {
		v, err := parseVerdict(b)
		if err == nil {
			return v, nil
		}
		o, broken := ParseObject(b, Limits{})
		if broken != nil {
			return v, err
		}
		number := func(name string) uint64 {
			raw, _ := o.Get(name)
			n, _ := raw.Int()
			return uint64(max(n, 0))
		}
		v = Verdict{
			LaneSeq: number("lane_seq"), State: parseVerdictState([]byte(o.text("state"))), HubSeq: number("hub_seq"),
			HubMsgID: number("hub_msg_id"), Reason: Reason(o.text("reason")),
		}
		if raw, _ := o.Get("recipients"); strings.HasPrefix(string(raw), `["`) {
			end := stringEnd(raw, 1)
			name, _ := raw[1:end].Text()
			v.Recipients = []string{name}
		}
		if canonical && !bytes.Equal(v.Append(nil), b) {
			return v, err
		}
		return v, nil
	}
}
