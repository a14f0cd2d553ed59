package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

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

func TestVerdictGolden(t *testing.T) {
	for text, want := range verdicts {
		if got := string(want.Append(nil)); got != text {
			t.Errorf("appended %s\nwant     %s", got, text)
		}
		got, err := ParseVerdict([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
		for n := range len(text) {
			if v, err := ParseVerdict([]byte(text[:n])); err == nil {
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
		if v, err := ParseVerdict([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, v)
		}
	}
}

func FuzzVerdict(f *testing.F) {
	for _, b := range verdictSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b string) {
		if fault := verdictFault(b, ParseVerdict); fault != "" {
			t.Fatal(fault)
		}
	})
}

// unchecked reads a verdict and judges only what it is told to.
func unchecked(canonical bool) func(b []byte) (Verdict, error) {
	return func(b []byte) (Verdict, error) {
		v, err := ParseVerdict(b)
		if err == nil {
			return v, nil
		}
		o, broken := ParseObject(b, Limits{})
		if broken != nil {
			return v, err
		}
		v = Verdict{
			LaneSeq: o.number("lane_seq"), State: parseVerdictState(o.text("state")), HubSeq: o.number("hub_seq"),
			HubMsgID: o.number("hub_msg_id"), Recipients: o.firstText("recipients"), Reason: Reason(o.text("reason")),
		}
		if canonical && !bytes.Equal(v.Append(nil), b) {
			return v, err
		}
		return v, nil
	}
}
