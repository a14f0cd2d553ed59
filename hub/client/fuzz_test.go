package client

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetrelay/hub/wire"
)

var chatSeeds = []string{
	`{"sender":"a","target":"b","type":"chat","payload":"hi","timestamp":1796063246.832343,"hub_id":"hub-1","msg_id":1,"seq":2}`,
	`{"sender":"a@hub-2","type":"chat","payload":{"k":[1]},"hub_id":"h","msg_id":9,"seq":9,"replayed":true,"client_msg_id":"x"}`,
	`{"type":"chat","seq":-1,"msg_id":"1","replayed":1,"sender":null,"target":7}`,
	`{"sender":"SynapseHub","type":"welcome","protocol_version":2,"online_agents":["a"],"connected_clients":1}`,
	`{"sender":"SynapseHub","type":"delivery_receipt","message_id":1,"delivered":true,"recipients":["a",1],"timestamp":1e308}`,
	`{"type":"error"`, `[]`, ``, "\xff",
}

// plainChat is the naive twin of frame.chat: one lookup a member.
func plainChat(f frame) Chat {
	_, hasTarget := func() (string, bool) { v, _ := f.Get("target"); return v.Text() }()
	payload, _ := f.Get("payload")
	return Chat{
		Sender: f.text("sender"), Target: f.text("target"), HasTarget: hasTarget, Payload: payload, Seq: f.uint("seq"), MsgID: f.uint("msg_id"),
		ClientMsgID: f.text("client_msg_id"), TimeUS: f.timeUS(), Replayed: f.bool("replayed"), HubID: f.hub(), Raw: f.Object,
	}
}

// checkParse says what is wrong with an event made of b, "" if nothing.
func checkParse(b []byte, ev Event, chat func(frame) Chat) string {
	o, err := wire.ParseObject(b, wire.Limits{})
	if _, bad := ev.(Malformed); bad != (err != nil) {
		return "malformed and yet an event, or the reverse"
	}
	if _, ok := ev.(Chat); !ok {
		return ""
	}
	return cmp.Diff(plainChat(frame{o}), chat(frame{o}))
}

func FuzzParse(f *testing.F) {
	for _, s := range chatSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if wrong := checkParse(b, parse(bytes.Clone(b), wire.Limits{}), frame.chat); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// TestParseCheckFindsFaults: the fuzz target's check finds a parser that takes a number for a truth and one that lets
// malformed text pass, on the seeds alone.
func TestParseCheckFindsFaults(t *testing.T) {
	truthy := func(f frame) Chat {
		c := f.chat()
		v, _ := f.Get("replayed")
		c.Replayed = v.Truthy()
		return c
	}
	found := 0
	for _, s := range chatSeeds {
		if checkParse([]byte(s), parse([]byte(s), wire.Limits{}), truthy) != "" {
			found++
		}
		if checkParse([]byte(s), Other{}, frame.chat) != "" {
			found++
		}
	}
	if found < 2 {
		t.Fatalf("found %d", found)
	}
}

// checkBuilt says what is wrong with a frame built of m: the hub must read from it exactly what was put in.
func checkBuilt(m *Message, b []byte) string {
	in, bad := wire.ParseInbound(b, wire.Limits{})
	if bad != nil {
		return "the hub refuses it: " + string(bad.Reason)
	}
	if in.Sender != "me" || in.Target != m.To || in.Type != wire.TypeChat || in.Token != "" {
		return "another envelope"
	}
	want := 5 + len(m.Extra)
	if m.To != "" {
		want++
	}
	if m.ReceiptRequested {
		want++
	}
	if len(in.Object.Members) != want {
		return "another number of members"
	}
	id, _ := in.Object.Get("client_msg_id")
	if s, _ := id.Text(); s != m.ClientMsgID {
		return "another id"
	}
	payload, _ := in.Object.Get("payload")
	if s, _ := payload.Text(); m.Payload == nil && s != m.Text {
		return "another text"
	}
	return ""
}

func FuzzMessage(f *testing.F) {
	f.Add("p/b", "hello", []byte(nil), "id", "x", []byte("1"), true)
	f.Add("", "", []byte(`{"a":1}`), "id-2", "token", []byte(`"t"`), false)
	f.Add("b", "", []byte(`1,"token":"t"`), "id-2", "y", []byte(`2`), false)
	f.Add("b", "\x00", []byte(nil), " id", "y", []byte(`2,"z":3`), false)
	f.Fuzz(func(t *testing.T, to, text string, payload []byte, id, extra string, value []byte, receipt bool) {
		m := Message{To: to, Text: text, Payload: payload, ClientMsgID: id, ReceiptRequested: receipt}
		if len(value) > 0 {
			m.Extra = []wire.Member{{Name: extra, Value: value}}
		}
		b, err := m.build("me", time.Unix(1796063246, 832343000))
		if err != nil {
			return
		}
		if wrong := checkBuilt(&m, b); wrong != "" {
			t.Fatalf("%s: %q", wrong, b)
		}
	})
}

// TestMessageCheckFindsFaults: an injected payload that build would have to refuse is found by the fuzz target's check.
func TestMessageCheckFindsFaults(t *testing.T) {
	for _, injected := range []string{`1,"token":"t"`, `1,"extra":2`, `{`} {
		m := Message{ClientMsgID: "id", Text: "x"}
		b, err := m.build("me", time.Unix(0, 0))
		if err != nil || checkBuilt(&m, b) != "" {
			t.Fatal(err)
		}
		b = bytes.Replace(b, []byte(`"x"`), []byte(injected), 1)
		m.Payload = wire.Raw(injected)
		if checkBuilt(&m, b) == "" {
			t.Fatalf("%s passed", injected)
		}
	}
}
