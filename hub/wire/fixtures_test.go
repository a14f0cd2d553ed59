package wire

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files of testdata/core-v2 are captured conversations of public version-2
// clients and hubs, one entry a line. The sentences for people in hub frames are ours,
// written there by -update; everything else is as it was on the wire.
var update = flag.Bool("update", false, "put our sentences into the captured hub frames")

type entry struct {
	Dir   string  `json:"dir"`
	Conn  string  `json:"conn"`
	Frame Raw     `json:"frame"`
	Raw   *string `json:"raw"`
	Close *struct {
		Code   int    `json:"code"`
		Reason string `json:"reason"`
	} `json:"close"`
}

func TestCapturedConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/core-v2/*.json")
	if err != nil || len(files) < 14 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &script{T: t}
			if err := UnmarshalLax(text, &s.entries); err != nil {
				t.Fatal(err)
			}
			for i := range s.entries {
				s.play(i)
			}
			if *update {
				s.rewrite(file, text)
			}
		})
	}
}

type script struct {
	*testing.T
	entries []entry
	chats   []Chat // all chats clients sent so far, with their senders beside
	senders []string
	ours    []([2][]byte) // captured frame and ours, where only the sentence may differ
}

func (s *script) play(i int) {
	e := s.entries[i]
	switch {
	case e.Close != nil && e.Dir == "h2c":
		s.closing(e)
	case e.Raw != nil && !strings.ContainsAny(*e.Raw, "<>") && !strings.HasPrefix(*e.Raw, "{..."):
		_, bad := ParseInbound([]byte(*e.Raw), Limits{})
		s.refused(i, bad)
	case e.Frame == nil:
	case e.Dir == "c2h":
		s.sent(i)
	default:
		s.received(i)
	}
}

// closing checks that some reason closes with these words.
func (s *script) closing(e entry) {
	for _, r := range Reasons() {
		if c, ok := CloseOf(r.Word); ok && c.Code == e.Close.Code && c.Text == e.Close.Reason {
			return
		}
	}
	s.Errorf("no reason closes with %+v", e.Close)
}

// sent reads what a client sent; what we refuse the captured hub refused too, with
// the same sentence.
func (s *script) sent(i int) {
	in, bad := ParseInbound(s.entries[i].Frame, Limits{})
	if bad == nil && !in.Type.FromAgent() {
		bad = UnknownType(in.Type)
	}
	if bad != nil {
		s.refused(i, bad)
		return
	}
	if in.Type == TypeChat {
		c, bad := in.Chat()
		if bad != nil {
			s.Fatalf("entry %d: %s", i, bad.Text)
		}
		s.chats, s.senders = append(s.chats, c), append(s.senders, in.Sender)
	}
}

func (s *script) refused(i int, bad *FrameError) {
	if bad == nil {
		s.Errorf("entry %d was accepted", i)
		return
	}
	answer := s.next(i, "h2c")
	if answer == nil || object(s.T, answer.Frame).text("payload") != bad.Text {
		s.Errorf("entry %d: we answer %q", i, bad.Text)
	}
}

// next is the entry after i on the same connection and in that direction.
func (s *script) next(i int, dir string) *entry {
	for j := i + 1; j < len(s.entries); j++ {
		if s.entries[j].Conn == s.entries[i].Conn && s.entries[j].Dir == dir {
			return &s.entries[j]
		}
	}
	return nil
}

// received builds the frame the captured hub sent from what it says and compares.
func (s *script) received(i int) {
	frame := s.entries[i].Frame
	o := object(s.T, frame)
	if FrameType(o.text("type")) == TypeChat {
		for j := range s.chats {
			if frameDiff(s.T, frame, relayed(o, &s.chats[j], s.senders[j])) == "" {
				return
			}
		}
		s.Errorf("entry %d: no chat sent gives %s", i, frame)
		return
	}
	ours := s.rebuild(i, o)
	if diff := frameDiff(s.T, frame, ours); diff != "" {
		s.Errorf("entry %d (-captured +ours):\n%s", i, diff)
	}
	s.ours = append(s.ours, [2][]byte{frame, ours})
}

func relayed(o *Object, c *Chat, sender string) []byte {
	f := ChatFrame{
		Sender: sender, Target: c.Target, HasTarget: c.HasTarget, Body: c.Body,
		HubID: HubID(o.text("hub_id")), MsgID: uint64(number(o, "msg_id")), Seq: uint64(number(o, "seq")),
	}
	v, _ := o.Get("replayed")
	f.Replayed = v.Truthy()
	return f.Append(nil)
}

func (s *script) rebuild(i int, o *Object) []byte {
	hub, target := HubID(o.text("hub_id")), o.text("target")
	switch typ := FrameType(o.text("type")); typ {
	case TypeWelcome:
		return (&Welcome{hub, 0, int(number(o, "connected_clients")), list(o, "online_agents")}).Append(nil)
	case TypePresenceUpdate:
		return (&PresenceUpdate{hub, 0, list(o, "online_agents"), PresenceEvent(o.text("event")), o.text("agent")}).Append(nil)
	case TypeError:
		return (&ErrorFrame{HubID: hub, Target: target, Text: o.text("payload")}).Append(nil)
	case TypeNameConflict:
		return (&NameConflict{hub, 0, target, s.conflict(i, target)}).Append(nil)
	case TypeAuthDenied:
		return (&AuthDenied{hub, 0, target, s.denied(i)}).Append(nil)
	case TypeDeliveryReceipt:
		return receiptOf(s.T, o).Append(nil)
	case TypeLivenessWarning:
		return (&LivenessWarning{
			HubID: hub, Target: target, MessageTarget: o.text("message_target"), MessageID: uint64(number(o, "message_id")),
			Delivered: flagOf(o, "delivered"), DeadLettered: flagOf(o, "dead_lettered"), Reason: Reason(o.text("reason")),
			Matched: list(o, "matched_recipients"), Stale: list(o, "stale_recipients"),
			Passive: list(o, "passive_recipients"), Wake: wakes(s.T, o, "recipient_wake_capabilities"),
		}).Append(nil)
	case TypeWhoSnapshot:
		return whoOf(s.T, o).Append(nil)
	case TypeStateSnapshot:
		return stateOf(s.T, o).Append(nil)
	default:
		s.Fatalf("entry %d: no such frame: %s", i, typ)
		return nil
	}
}

// conflict is our sentence for the close that follows.
func (s *script) conflict(i int, name string) string {
	switch s.next(i, "h2c").Close.Reason {
	case "name switch":
		return NameSwitchText(name, "another")
	case "name conflict":
		return NameTakenText(name)
	}
	return ValidLocalName(name).Text
}

func (s *script) denied(i int) string {
	for j := i - 1; j >= 0; j-- {
		if s.entries[j].Conn != s.entries[i].Conn {
			continue
		}
		if o := object(s.T, s.entries[j].Frame); o.text("token") == "" {
			return AuthDeniedText(ReasonTokenRequired, o.text("sender"))
		}
		return AuthDeniedText(ReasonTokenInvalid, "")
	}
	return ""
}

func receiptOf(t *testing.T, o *Object) *Receipt {
	r := &Receipt{
		HubID: HubID(o.text("hub_id")), Target: o.text("target"), MessageTarget: o.text("message_target"),
		MessageID: uint64(number(o, "message_id")), MessageSeq: uint64(number(o, "message_seq")),
		Delivered: flagOf(o, "delivered"), DeadLettered: flagOf(o, "dead_lettered"), Recipients: list(o, "recipients"),
		Matched: list(o, "matched_recipients"), Stale: list(o, "stale_recipients"), Reason: Reason(o.text("reason")),
		NotificationID: o.text("receipt_notification_id"), ClientMsgID: o.text("client_msg_id"),
		Wake: wakes(t, o, "recipient_wake_capabilities"),
	}
	if flagOf(o, "deferred") {
		r.Shape = ReceiptDeferred
	}
	if r.NotificationID != "" {
		r.NotificationID = ReceiptNotificationID(r.MessageSeq, r.NotificationID[strings.LastIndex(r.NotificationID, ":")+1:])
	}
	return r
}

func whoOf(t *testing.T, o *Object) *WhoSnapshot {
	w := &WhoSnapshot{
		HubID: HubID(o.text("hub_id")), Target: o.text("target"), OnlineAgents: list(o, "online_agents"),
		ConnectedClients: int(number(o, "connected_clients")), HubVersion: o.text("hub_version"), ConfigEpoch: o.text("config_epoch"),
		Wake: wakes(t, o, "wake_capabilities"),
	}
	for _, m := range nestedMembers(t, o, "agent_roles") {
		one := Object{Members: []Member{m}}
		w.AgentRoles = append(w.AgentRoles, NameRoles{m.Name, list(&one, m.Name)})
	}
	if v, _ := o.Get("mailbox_pending"); !v.IsNull() {
		w.MailboxPending = []NameCount{}
		for _, m := range nestedMembers(t, o, "mailbox_pending") {
			n, _ := m.Value.Int()
			w.MailboxPending = append(w.MailboxPending, NameCount{m.Name, uint64(n)})
		}
	}
	for _, m := range nestedMembers(t, o, "agent_liveness") {
		l := object(t, m.Value)
		w.Liveness = append(w.Liveness, AgentLiveness{m.Name, flagOf(l, "proven_live"), flagOf(l, "has_live_waiter"), 1})
	}
	return w
}

func stateOf(t *testing.T, o *Object) *StateSnapshot {
	v, _ := o.Get("snapshot")
	snap := object(t, v)
	s := &StateSnapshot{HubID: HubID(o.text("hub_id")), Target: o.text("target")}
	for _, a := range elements(t, snap, "agents") {
		s.Agents = append(s.Agents, AgentSeen{Agent: a.text("agent")})
	}
	for _, d := range elements(t, snap, "dead_letters") {
		s.DeadLetters = append(s.DeadLetters, DeadLetter{Target: d.text("target"), Count: uint64(number(d, "count")), LastSender: d.text("last_sender")})
	}
	return s
}

func object(t *testing.T, v Raw) *Object {
	o, err := ParseObject(v, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &o
}

func nestedMembers(t *testing.T, o *Object, name string) []Member {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	return object(t, v).Members
}

func elements(t *testing.T, o *Object, name string) (out []*Object) {
	v, _ := o.Get(name)
	var raws []Raw
	if err := Unmarshal(v, &raws); err != nil {
		t.Fatal(err)
	}
	for _, r := range raws {
		out = append(out, object(t, r))
	}
	return out
}

func number(o *Object, name string) int64 {
	v, _ := o.Get(name)
	n, _ := v.Int()
	return n
}

func flagOf(o *Object, name string) bool {
	v, _ := o.Get(name)
	return v.Truthy()
}

func list(o *Object, name string) (out []string) {
	if v, ok := o.Get(name); ok {
		_ = Unmarshal(v, &out) // a wrong list shows in the comparison
	}
	return out
}

func wakes(t *testing.T, o *Object, name string) (out []NameWake) {
	for _, m := range nestedMembers(t, o, name) {
		s, _ := m.Value.Text()
		out = append(out, NameWake{m.Name, s})
	}
	return out
}

// frameDiff compares two frames as JSON without what differs between any two runs:
// times, and the sentence of a hub frame that no client matches.
func frameDiff(t *testing.T, captured, ours []byte) string {
	t.Helper()
	var a, b map[string]any
	if err := Unmarshal(captured, &a); err != nil {
		t.Fatal(err)
	}
	if err := Unmarshal(ours, &b); err != nil {
		t.Fatalf("%s: %v", ours, err)
	}
	if *update && a["sender"] == HubSender {
		a["payload"] = b["payload"]
	}
	return cmp.Diff(steady(a), steady(b))
}

func steady(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = steady(inner)
			if _, isNumber := inner.(float64); isNumber && slices.Contains(times, name) {
				v[name] = "a time"
			}
		}
	case []any:
		for i := range v {
			v[i] = steady(v[i])
		}
	}
	return v
}

var times = []string{"timestamp", "last_seen", "last_ts", "generated_at", "last_reaction_age"}

// rewrite replaces the captured sentences by ours and leaves every other byte.
func (s *script) rewrite(file string, text []byte) {
	for _, pair := range s.ours {
		was, _ := object(s.T, pair[0]).Get("payload")
		is, _ := object(s.T, pair[1]).Get("payload")
		frame := bytes.Replace(pair[0], append([]byte(`"payload": `), was...), append([]byte(`"payload": `), is...), 1)
		text = bytes.ReplaceAll(text, pair[0], frame)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		s.Fatal(err)
	}
}
