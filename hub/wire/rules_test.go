package wire

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func inbound(t *testing.T, text string) *Inbound {
	t.Helper()
	in, bad := ParseInbound([]byte(text), Limits{})
	if bad != nil {
		t.Fatalf("%s: %v %s", text, bad, bad.Text)
	}
	return &in
}

// Core-wire-v2 section 2 (text fields) and section 15 (sentences, byte for byte).
func TestParseInboundRefusals(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`{not json`, "Malformed JSON."},
		{`{"sender":"a","v":1e999}`, "Malformed JSON."},
		{"\xff\xfe", "Malformed JSON."},
		{`[1,2]`, "Malformed frame: expected a JSON object."},
		{`null`, "Malformed frame: expected a JSON object."},
		{`"text"`, "Malformed frame: expected a JSON object."},
		{`12`, "Malformed frame: expected a JSON object."},
		{`{"sender":["a"]}`, "Malformed frame: 'sender' must be a string."},
		{`{"target":7}`, "Malformed frame: 'target' must be a string."},
		{`{"type":true}`, "Malformed frame: 'type' must be a string."},
		{`{"channel":{}}`, "Malformed frame: 'channel' must be a string."},
		{`{"channel":1,"type":1,"target":1,"sender":1}`, "Malformed frame: 'sender' must be a string."},
		{`{"channel":1,"type":1,"target":1}`, "Malformed frame: 'target' must be a string."},
		{`{"channel":1,"type":1}`, "Malformed frame: 'type' must be a string."},
	} {
		_, bad := ParseInbound([]byte(tc.text), Limits{})
		if bad == nil || bad.Text != tc.want || bad.Code() != "" {
			t.Errorf("%s: %+v", tc.text, bad)
		}
	}
	_, bad := ParseInbound([]byte(`{"sender":"a"}`), Limits{MaxBytes: 5})
	if bad == nil || bad.Reason != ReasonMessageTooLarge || bad.Code() != ReasonMessageTooLarge {
		t.Errorf("too large: %+v", bad)
	}
}

func TestUnknownType(t *testing.T) {
	e := UnknownType(inbound(t, `{"type":" Nonsense_Verb "}`).Type)
	if e.Text != "Unknown message type 'nonsense_verb'." || e.Reason != ReasonUnknownType || e.Error() != "unknown_type" {
		t.Errorf("%+v", e)
	}
	long := UnknownType(FrameType("x" + strings.Repeat("é", 1000)))
	if want := "Unknown message type 'x" + strings.Repeat("é", 127) + "...'."; long.Text != want {
		t.Errorf("a long verb is repeated as %d bytes", len(long.Text))
	}
}

// Core-wire-v2 section 2: envelope fields.
func TestParseInboundFields(t *testing.T) {
	type view struct {
		Sender, Target string
		HasTarget      bool
		Type           FrameType
		Token          string
	}
	for text, want := range map[string]view{
		`{}`: {Type: TypeChat},
		`{"sender":null,"target":null,"type":null,"channel":null,"token":null}`: {Type: TypeChat},
		`{"sender":"  ","target":"","type":"  "}`:                               {HasTarget: true, Type: TypeChat},
		`{"sender":"\u00a0\u001f proj/a\n","target":" x ","type":" WHO_Request "}`: {
			Sender: "proj/a", Target: " x ", HasTarget: true, Type: TypeWhoRequest,
		},
		`{"type":"heartbeat","token":" t "}`: {Type: TypeHeartbeat, Token: " t "},
		`{"type":"ACK","token":7}`:           {Type: TypeAck},
		`{"Sender":"x","TYPE":"ack"}`:        {Type: TypeChat},
	} {
		in := inbound(t, text)
		got := view{in.Sender, in.Target, in.HasTarget, in.Type, in.Token}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// Core-wire-v2 section 3: the registration heartbeat.
func TestHeartbeat(t *testing.T) {
	many := make([]string, MaxRoles+5)
	for i := range many {
		many[i] = fmt.Sprintf(`"p/r%d"`, i)
	}
	for text, want := range map[string]Heartbeat{
		`{}`: {},
		`{"takeover":null,"wake_capability":null,"roles":null,"mailbox":null,"since_seq":null,"mailbox_for":null}`: {},
		`{"takeover":true,"wake_capability":" Pane-Bridge ","mailbox":true,"since_seq":7,"mailbox_for":" p/a "}`: {
			Takeover: true, Wake: WakePaneBridge, Mailbox: true, SinceSeq: 7, HasSince: true, MailboxFor: "p/a",
		},
		`{"takeover":1,"wake_capability":"PASSIVE","mailbox":1,"mailbox_for":5}`: {Wake: WakePassive},
		`{"wake_capability":"direct","mailbox":"true"}`:                          {Wake: WakeDirect},
		`{"wake_capability":"psychic"}`:                                          {Wake: WakeUnknown},
		`{"wake_capability":["direct"]}`:                                         {Wake: WakeUnknown},
		`{"roles":["p/r"," p/r ","",7,null,["x"],"\u0070/s"]}`:                   {Roles: []string{"p/r", "p/s"}, HasRoles: true},
		`{"roles":[]}`:    {Roles: []string{}, HasRoles: true},
		`{"roles":[ ]}`:   {Roles: []string{}, HasRoles: true},
		`{"roles":"p/r"}`: {},
		`{"roles":["` + strings.Repeat("x", MaxRoleBytes) + `","` + strings.Repeat("y", MaxRoleBytes+1) + `"]}`: {Roles: []string{strings.Repeat("x", MaxRoleBytes)}, HasRoles: true},
	} {
		if diff := cmp.Diff(want, inbound(t, text).Heartbeat()); diff != "" {
			t.Errorf("%.60s (-want +got):\n%s", text, diff)
		}
	}
	if n := len(inbound(t, `{"roles":[`+strings.Join(many, ",")+`]}`).Heartbeat().Roles); n != MaxRoles {
		t.Errorf("%d roles", n)
	}
}

// Core-wire-v2 section 3: since_seq.
func TestSinceSeq(t *testing.T) {
	for text, want := range map[string]uint64{
		`0`: 0, `12`: 12, `"12"`: 12, `" +12 "`: 12, `"many"`: 0, `""`: 0, `"1.5"`: 0, `"1 2"`: 0, `"-3"`: 0, `-3`: 0,
		`true`: 0, `false`: 0, `[]`: 0, `{}`: 0, `2.9`: 2, `3e2`: 300, `-0.5`: 0, `1e30`: math.MaxInt64,
		`99999999999999999999`: math.MaxInt64, `"99999999999999999999"`: math.MaxInt64, `"-99999999999999999999"`: 0, `"-"`: 0,
	} {
		h := inbound(t, `{"since_seq":`+text+`}`).Heartbeat()
		if h.SinceSeq != want || !h.HasSince {
			t.Errorf("%s: %d, %v", text, h.SinceSeq, h.HasSince)
		}
	}
}

// Core-wire-v2 section 7: ack.
func TestAck(t *testing.T) {
	for text, want := range map[string]Ack{
		`{"seq":1}`: {Seq: 1}, `{"seq":4,"mailbox_for":" p/a "}`: {Seq: 4, MailboxFor: "p/a"}, `{"seq":3,"mailbox_for":1}`: {Seq: 3},
		`{}`: {}, `{"seq":0}`: {}, `{"seq":-1}`: {}, `{"seq":true}`: {}, `{"seq":"3"}`: {}, `{"seq":3.0}`: {}, `{"seq":null}`: {},
		`{"seq":9223372036854775808}`: {},
	} {
		if got, ok := inbound(t, text).Ack(); got != want || ok != (want.Seq != 0) {
			t.Errorf("%s: %+v, %v", text, got, ok)
		}
	}
}

// Core-wire-v2 section 6: what of a chat is carried, and how.
func TestChatBody(t *testing.T) {
	for _, tc := range []struct {
		name, text, body string
		want             Carried
	}{
		{"nothing", `{"sender":"a","target":"b","type":"chat"}`, `{}`, Carried{}},
		{
			"values keep their bytes",
			`{"payload":{"k" : [1, {"x":"\u00e9"}], "n":1.50e+1}, "priority":true, "kind":"steer"}`,
			`{"payload":{"k" : [1, {"x":"\u00e9"}], "n":1.50e+1},"priority":true,"kind":"steer"}`,
			Carried{},
		},
		{
			"the hub's own members are dropped",
			`{"sender":"a","hub_id":"f","msg_id":999,"seq":5,"replayed":true,"token":"t","timestamp":9.5,"client_timestamp":5,"payload":1}`,
			`{"payload":1,"client_timestamp":9.5}`,
			Carried{ClientTimestamp: "9.5"},
		},
		{"forged through an escape", `{"se\u0071":5,"\u0068ub_id":"f","payload":1}`, `{"payload":1}`, Carried{}},
		{"names differing in case are others", `{"Seq":5,"SENDER":"x"}`, `{"Seq":5,"SENDER":"x"}`, Carried{}},
		{"time of no number", `{"timestamp":"soon"}`, `{}`, Carried{}},
		{"time of zero", `{"timestamp":0.0}`, `{}`, Carried{}},
		{"time of a boolean", `{"timestamp":true}`, `{}`, Carried{}},
		{"time that is no double", `{"timestamp":` + strings.Repeat("9", 400) + `}`, `{}`, Carried{}},
		{"negative time", `{"timestamp":-1}`, `{"client_timestamp":-1}`, Carried{ClientTimestamp: "-1"}},
		{"retry id trimmed in its place", `{"client_msg_id":"  m-1 ","payload":1}`, `{"client_msg_id":"m-1","payload":1}`, Carried{ClientMsgID: "m-1"}},
		{"retry id blank", `{"client_msg_id":"  "}`, `{}`, Carried{}},
		{"retry id no string", `{"client_msg_id":5}`, `{}`, Carried{}},
		{"retry id with a control character", `{"client_msg_id":"bad\u0001id"}`, `{}`, Carried{}},
		{"retry id with DEL", `{"client_msg_id":"bad\u007fid"}`, `{}`, Carried{}},
		{"receipt by a truthy string", `{"receipt_requested":"no"}`, `{"receipt_requested":"no"}`, Carried{ReceiptRequested: true}},
		{"no receipt by an empty list", `{"receipt_requested":[]}`, `{"receipt_requested":[]}`, Carried{}},
		{"blank channel is none", `{"channel":" ","payload":1}`, `{"channel":" ","payload":1}`, Carried{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, bad := inbound(t, tc.text).Chat()
			if bad != nil || string(c.Body) != tc.body || c.Digest != sha256.Sum256([]byte(tc.body)) {
				t.Fatalf("body %s, %v", c.Body, bad)
			}
			got := Carried{ClientMsgID: c.ClientMsgID, ClientTimestamp: c.ClientTimestamp, ReceiptRequested: c.ReceiptRequested}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if again, err := ParseCarried(c.Body, Limits{}); err != nil || again != tc.want {
				t.Errorf("as a peer's: %+v, %v", again, err)
			}
		})
	}
}

// Section 6: 1 to 256 bytes, counted in UTF-8.
func TestClientMsgIDBytes(t *testing.T) {
	for _, r := range []string{"x", "é", "€", "\U0001f600"} {
		for _, n := range []int{255, 256, 257} {
			id := strings.Repeat(r, n/len(r)) + strings.Repeat("y", n%len(r))
			c, bad := inbound(t, `{"client_msg_id":"`+id+`"}`).Chat()
			if bad != nil || (c.ClientMsgID == id) != (n <= 256) {
				t.Errorf("%d bytes of %q: %q", n, r, c.ClientMsgID)
			}
		}
	}
}

func TestChatOwnsItsBody(t *testing.T) {
	text := []byte(`{"payload":"before","timestamp":12345}`)
	in, _ := ParseInbound(text, Limits{})
	c, _ := in.Chat()
	for i := range text {
		text[i] = 'z'
	}
	if string(c.Body) != `{"payload":"before","client_timestamp":12345}` || c.ClientTimestamp != "12345" {
		t.Errorf("body %s", c.Body)
	}
}

// Section 6 (structured answer), section 14 (channels), bounds of the target.
func TestChatRefusals(t *testing.T) {
	const answer = `"response_to_seq":3,"response_status":"completed","response_evidence_scope":"recipient"`
	for _, tc := range []struct {
		name, members string
		want          Reason
	}{
		{"answer", answer, ""},
		{"all three null", `"response_to_seq":null,"response_status":null,"response_evidence_scope":null`, ""},
		{"one missing", `"response_to_seq":3,"response_status":"completed"`, ReasonInvalidAnswer},
		{"one null", `"response_to_seq":3,"response_status":null,"response_evidence_scope":"recipient"`, ReasonInvalidAnswer},
		{"only the scope", `"response_evidence_scope":"recipient"`, ReasonInvalidAnswer},
		{"seq 0", `"response_to_seq":0,"response_status":"completed","response_evidence_scope":"recipient"`, ReasonInvalidAnswer},
		{"seq a string", `"response_to_seq":"3","response_status":"completed","response_evidence_scope":"recipient"`, ReasonInvalidAnswer},
		{"seq a boolean", `"response_to_seq":true,"response_status":"completed","response_evidence_scope":"recipient"`, ReasonInvalidAnswer},
		{"unlisted status", `"response_to_seq":3,"response_status":"Completed","response_evidence_scope":"recipient"`, ReasonInvalidAnswer},
		{"unlisted scope", `"response_to_seq":3,"response_status":"declined","response_evidence_scope":"me"`, ReasonInvalidAnswer},
		{"channel", `"channel":"c"`, ReasonUnsupportedChannel},
		{"channel with a target", `"channel":" c ","target":"a"`, ReasonUnsupportedChannel},
		{"longest part", `"target":"a, ` + strings.Repeat("x", MaxTargetPartBytes) + ` "`, ""},
		{"part too long", `"target":"a,` + strings.Repeat("x", MaxTargetPartBytes+1) + `"`, ReasonInvalidAddress},
		{"most parts", `"target":"a` + strings.Repeat(",a", MaxTargetParts-1) + `"`, ""},
		{"too many parts", `"target":"a` + strings.Repeat(",a", MaxTargetParts) + `"`, ReasonInvalidAddress},
		{"longest glob", `"target":"*` + strings.Repeat("x", MaxTargetGlobBytes-1) + `"`, ""},
		{"glob too long", `"target":"[` + strings.Repeat("x", MaxTargetGlobBytes) + `"`, ReasonInvalidAddress},
		{"most globs", `"target":"b` + strings.Repeat(",?", MaxTargetGlobs) + `"`, ""},
		{"too many globs", `"target":"b` + strings.Repeat(",?", MaxTargetGlobs+1) + `"`, ReasonInvalidAddress},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, bad := inbound(t, `{"client_msg_id":"m","timestamp":8,`+tc.members+`}`).Chat()
			if (bad == nil) != (tc.want == "") || (bad != nil && bad.Reason != tc.want) {
				t.Fatalf("got %v", bad)
			}
			if c.ClientMsgID != "m" || c.ClientTimestamp != "8" {
				t.Errorf("correlation lost: %+v", c)
			}
			if want := (&Answer{ToSeq: 3, Status: "completed", Scope: ScopeRecipient}); tc.members == answer && !cmp.Equal(c.Answer, want) {
				t.Errorf("answer %+v", c.Answer)
			}
		})
	}
}

func TestChatFrame(t *testing.T) {
	f := ChatFrame{
		Sender: `a"b`, Target: "", HasTarget: true, HubID: "hub-1", MsgID: 2, Seq: 4, TimeUS: 1796063269405379,
		Body: []byte(`{"payload":"\u00e9","receipt_requested":true,"k":[ 1 ]}`),
	}
	for _, tc := range []struct {
		name   string
		change func(*ChatFrame)
		want   string
	}{
		{
			"live", func(*ChatFrame) {},
			`{"sender":"a\"b","target":"","type":"chat","payload":"\u00e9","receipt_requested":true,"k":[ 1 ],"timestamp":1796063269.405379,"hub_id":"hub-1","msg_id":2,"seq":4}`,
		},
		{
			"replayed", func(f *ChatFrame) { f.Replayed = true },
			`{"sender":"a\"b","target":"","type":"chat","payload":"\u00e9","k":[ 1 ],"timestamp":1796063269.405379,"hub_id":"hub-1","msg_id":2,"seq":4,"replayed":true}`,
		},
		{
			"no target, no seq, nothing carried", func(f *ChatFrame) { f.HasTarget, f.Seq, f.Body = false, 0, []byte(`{ }`) },
			`{"sender":"a\"b","type":"chat","timestamp":1796063269.405379,"hub_id":"hub-1","msg_id":2}`,
		},
		{
			"only a receipt, replayed", func(f *ChatFrame) { f.Replayed, f.Body = true, []byte(`{"receipt_requeste\u0064":1}`) },
			`{"sender":"a\"b","target":"","type":"chat","timestamp":1796063269.405379,"hub_id":"hub-1","msg_id":2,"seq":4,"replayed":true}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := f
			tc.change(&g)
			if got := string(g.Append([]byte("x"))); got != "x"+tc.want {
				t.Errorf("got  %s\nwant x%s", got, tc.want)
			}
		})
	}
}

func TestParseCarriedRefusals(t *testing.T) {
	for text, want := range map[string]Rule{
		`{"payload":1}`:                      "",
		`{"sender":"x"}`:                     RuleOwned,
		`{"target":"x"}`:                     RuleOwned,
		`{"type":"chat"}`:                    RuleOwned,
		`{"token":"x"}`:                      RuleOwned,
		`{"timestamp":1}`:                    RuleOwned,
		`{"hub_id":"x"}`:                     RuleOwned,
		`{"msg_id":1}`:                       RuleOwned,
		`{"s\u0065q":1}`:                     RuleOwned,
		`{"replayed":true}`:                  RuleOwned,
		`{"channel":"c"}`:                    RuleMember,
		`{"channel":7}`:                      RuleMember,
		`{"channel":null}`:                   "",
		`{"client_msg_id":" m"}`:             RuleMember,
		`{"client_msg_id":7}`:                RuleMember,
		`{"client_msg_id":null}`:             RuleMember,
		`{"client_msg_id":""}`:               RuleMember,
		`{"client_timestamp":0}`:             RuleMember,
		`{"client_timestamp":"1"}`:           RuleMember,
		` {}`:                                RuleObject,
		"{}\n":                               RuleObject,
		`[]`:                                 RuleObject,
		`{"a":1,"a":2}`:                      RuleDuplicate,
		`{"a":` + nested("[", "]", 64) + `}`: RuleDepth,
		``:                                   RuleSyntax,
	} {
		checkRule(t, CheckCarried([]byte(text), Limits{}), want)
	}
	// A body made of a frame of the largest size passes at the peer, one byte over
	// the slack does not.
	fits := `{"payload":"` + strings.Repeat("x", DefaultMaxBytes+carriedSlack-14) + `"}`
	checkRule(t, CheckCarried([]byte(fits), Limits{}), "")
	checkRule(t, CheckCarried([]byte(fits[:20]+"x"+fits[20:]), Limits{}), RuleSize)
}

func TestParseCarriedTruncated(t *testing.T) {
	body := []byte(`{"payload":"\u00e9","client_msg_id":"m","client_timestamp":7.5}`)
	for n := range body {
		if err := CheckCarried(body[:n], Limits{}); err == nil {
			t.Errorf("prefix of %d bytes accepted", n)
		}
	}
}

// Whatever an agent sends: parsed, built and parsed again, raw values are the same.
func TestChatRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if fault := inboundFault(jsonText().Draw(t, "text"), (*Inbound).Chat); fault != "" {
			t.Fatal(fault)
		}
	})
}

func TestLargestFrameIsCarried(t *testing.T) {
	const head, tail = `{"timestamp":1,"payload":"`, `"}`
	text := head + strings.Repeat("x", DefaultMaxBytes-len(head)-len(tail)) + tail
	c, bad := inbound(t, text).Chat()
	if bad != nil || len(c.Body) <= DefaultMaxBytes {
		t.Fatalf("%v, body of %d bytes", bad, len(c.Body))
	}
	if err := CheckCarried(c.Body, Limits{}); err != nil {
		t.Error(err)
	}
}
