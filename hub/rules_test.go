package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// types lists the types of frames.
func types(frames []got) []string {
	out := []string{}
	for _, g := range frames {
		out = append(out, g.str("type"))
	}
	return out
}

// flush asks a question and returns every frame before its answer.
func (a *agent) flush() []got {
	a.t.Helper()
	a.send(fmt.Sprintf(`{"sender":%q,"type":"state_request"}`, a.name))
	var before []got
	for {
		g, err := a.read()
		if err != nil {
			a.t.Fatalf("%s: %v", a.name, err)
		}
		if g.str("type") == "state_snapshot" {
			return before
		}
		before = append(before, g)
	}
}

func wantTypes(t *testing.T, frames []got, want ...string) {
	t.Helper()
	if !slices.Equal(types(frames), want) {
		t.Errorf("frames %v, want %v", types(frames), want)
	}
}

func private(on bool) func(*Options) {
	return func(o *Options) { o.PrivateDirected = &on }
}

// Section 3: stored notifications, presence, replay, in this order; on a secured
// hub the welcome before them. The first frame may be any.
func TestOrderOfTheHandshake(t *testing.T) {
	for _, secured := range []bool{false, true} {
		r := startRig(t, vfs.NewMem())
		a, b := r.join("p/a"), r.join("p/b")
		b.chat("p/a", "for the mailbox")
		seq := a.chat("p/c", "asks", `,"receipt_requested":true`).num("seq")
		_ = a.ws.CloseNow()
		b.until(func(g got) bool { return g.str("event") == "left" && g.str("agent") == "p/a" })
		c := r.join("p/c")
		c.send(fmt.Sprintf(`{"sender":"p/c","type":"ack","seq":%d}`, seq))
		c.flush()

		token := ""
		want := []string{"welcome", "delivery_receipt", "presence_update", "chat"}
		if secured {
			_, secret, err := r.hub.CreateToken(t.Context(), "p/a", "admin:test")
			if err != nil {
				t.Fatal(err)
			}
			token = fmt.Sprintf(`,"token":%q`, secret)
		}
		again := r.dial("p/a")
		again.send(`{"sender":"p/a","type":"heartbeat","mailbox":true` + token + `}`)
		frames := again.flush()
		// the immediate receipt may still be stored beside the deferred one
		wantTypes(t, slices.CompactFunc(frames, func(x, y got) bool {
			return x.str("type") == "delivery_receipt" && y.str("type") == "delivery_receipt"
		}), want...)
	}
}

// Sections 3 and 15: what a first frame that binds no name gets, and that nothing
// behind it counts.
func TestFirstFrames(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	holder := r.join("p/held")
	cases := []struct {
		first string
		types []string
		code  int
		text  string
	}{
		{`not json`, []string{"welcome", "error"}, 4010, "registration required"},
		{`[]`, []string{"welcome", "error"}, 4010, "registration required"},
		{`{"sender":1}`, []string{"welcome", "error"}, 4010, "registration required"},
		{`{"sender":"p/x","type":7}`, []string{"welcome", "error"}, 4010, "registration required"},
		{`{"sender":"SYSTEM","type":"heartbeat"}`, []string{"welcome", "name_conflict"}, 4009, "reserved identity"},
		{`{"sender":"p/x@hub-2","type":"heartbeat"}`, []string{"welcome", "name_conflict"}, 4009, "reserved identity"},
		{`{"sender":"p/\u200bx","type":"heartbeat"}`, []string{"welcome", "name_conflict"}, 4009, "reserved identity"},
		{`{"sender":"p/held","type":"chat","payload":"x"}`, []string{"welcome", "name_conflict"}, 4009, "name conflict"},
	}
	for _, c := range cases {
		a := r.dial("p/x")
		a.send(c.first)
		// The hub closes after its answer; until then this would bind a name.
		a.send(`{"sender":"p/second","type":"chat","target":"all","payload":"smuggled"}`)
		code, text, frames := a.closed()
		if code != c.code || text != c.text {
			t.Errorf("%s: closed %d %q", c.first, code, text)
		}
		wantTypes(t, frames, c.types...)
	}
	if seen := holder.flush(); len(seen) != 0 {
		t.Errorf("others saw %v", seen)
	}
	anon := r.dial("")
	anon.send(`{"type":"who_request"}`)
	joined := holder.typed("presence_update").str("agent")
	if !strings.HasPrefix(joined, "anon-") {
		t.Errorf("an unnamed agent became %q", joined)
	}
	if who := anon.typed("who_snapshot"); who.str("target") != joined {
		t.Errorf("who for %v", who["target"])
	}
}

// A secured hub says nothing before the first frame and takes one guess a socket.
func TestSecuredFirstFrames(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	_, secret, err := r.hub.CreateToken(t.Context(), "p/a", "admin:test")
	if err != nil {
		t.Fatal(err)
	}
	good := fmt.Sprintf(`{"sender":"p/a","type":"heartbeat","token":%q}`, secret)
	for _, c := range []struct{ first, kind, text string }{
		{`{`, "error", "auth required"},
		{`{"sender":"p/a","type":"heartbeat"}`, "auth_denied", "auth denied"},
		{`{"sender":"p/a","type":"heartbeat","token":"guess"}`, "auth_denied", "auth denied"},
	} {
		a := r.dial("p/a")
		a.send(c.first)
		a.send(good)
		code, text, frames := a.closed()
		if code != 4010 || text != c.text {
			t.Errorf("%s: closed %d %q", c.first, code, text)
		}
		wantTypes(t, frames, c.kind)
	}
	a := r.dial("p/a")
	a.send(good)
	wantTypes(t, a.flush(), "welcome", "presence_update")
}

// Revoking a token closes the sockets it opened, and no others.
func TestRevocationReachesSockets(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	names := []string{"p/a", "p/b"}
	ids, agents := map[string]string{}, map[string]*agent{}
	for _, name := range names {
		id, secret, err := r.hub.CreateToken(t.Context(), name, "admin:test")
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = id
		agents[name] = r.join(name, fmt.Sprintf(`,"token":%q`, secret))
	}
	if err := r.hub.RevokeToken(t.Context(), ids["p/a"], "admin:test"); err != nil {
		t.Fatal(err)
	}
	if code, text, _ := agents["p/a"].closed(); code != 4010 || text != "auth denied" {
		t.Errorf("closed %d %q", code, text)
	}
	agents["p/b"].flush()
}

// Section 4: a name switch is told, closes, and nothing behind it counts.
func TestNameSwitch(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	a, b := r.join("p/a"), r.join("p/b")
	a.flush()
	a.send(`{"sender":"p/other","type":"heartbeat"}`)
	a.send(`{"sender":"p/a","type":"chat","target":"all","payload":"too late"}`)
	code, text, frames := a.closed()
	if code != 4009 || text != "name switch" {
		t.Errorf("closed %d %q", code, text)
	}
	wantTypes(t, frames, "name_conflict")
	if g := b.until(func(g got) bool { return g.str("type") != "presence_update" || g.str("event") == "left" }); g.str("agent") != "p/a" {
		t.Errorf("others saw %v", g)
	}
}

// Section 4: frames of a superseded socket win nothing back, its roles are gone.
func TestSupersededSocketIsDeaf(t *testing.T) {
	r := startRig(t, vfs.NewMem(), private(true))
	old, b := r.join("p/a", `,"roles":["p/lead"]`), r.join("p/b")
	next := r.dial("p/a")
	next.send(`{"sender":"p/a","type":"heartbeat","takeover":true}`)
	next.flush()
	ctx := t.Context()
	_ = old.ws.Write(ctx, 1, []byte(`{"sender":"p/a","type":"heartbeat","roles":["p/lead"]}`))
	_ = old.ws.Write(ctx, 1, []byte(`{"sender":"p/a","type":"chat","target":"p/b","payload":"from the past"}`))
	if code, text, _ := old.closed(); code != 4010 || text != "superseded" {
		t.Fatalf("closed %d %q", code, text)
	}
	b.chat("p/lead", "anyone?", `,"receipt_requested":true`)
	if g := b.typed("delivery_receipt"); g.str("reason") != "no_online_recipient" {
		t.Errorf("receipt %v", g)
	}
	for _, g := range b.flush() {
		if g["payload"] == "from the past" {
			t.Error("a superseded socket still speaks")
		}
	}
}

// Section 5: who counts as a recipient, with sidecars on both ends.
func TestMatchedRecipients(t *testing.T) {
	r := startRig(t, vfs.NewMem(), private(true))
	r.join("p/a-rx")
	r.join("p/a-pane-rx")
	r.join("p/b", `,"roles":["q/lead"]`)
	r.join("p/b-rx")
	a := r.join("p/a")
	for _, c := range []struct {
		sender, target string
		matched        string
	}{
		{"p/a", "p/b", "[p/b]"},
		{"p/a", "p", "[p/b]"},
		{"p/a", "q/lead", "[p/b]"},
		{"p/a", "p/b-rx", "[p/b-rx]"},
		{"p/a", "p/a-rx", "[p/a-rx]"}, // its own sidecar, named
		{"p/a", "p/a", "[]"},
		{"p/a", "p/?", "[p/b]"},
		{"p/a", "p/[!a]", "[p/b]"},
		{"p/a", "p/*", "[p/b]"},
		{"p/a", "all", "[p/b]"},
		{"p/a", " p/b , p/b-rx,, nobody", "[p/b]"},
	} {
		a.chat(c.target, "to "+c.target, `,"receipt_requested":true`)
		if g := a.typed("delivery_receipt"); fmt.Sprint(g["matched_recipients"]) != c.matched {
			t.Errorf("%s to %q matched %v, want %s", c.sender, c.target, g["matched_recipients"], c.matched)
		}
	}
	rx := r.join("p/b-pane-rx")
	rx.chat("all", "my own broadcast", `,"receipt_requested":true`)
	if g := rx.typed("delivery_receipt"); fmt.Sprint(g["matched_recipients"]) != "[p/a p/b]" {
		t.Errorf("a sidecar's broadcast matched %v", g["matched_recipients"])
	}
}

// Private-directed: nothing of a chat between two reaches a third.
func TestPrivateDirectedLeaksNothing(t *testing.T) {
	r := startRig(t, vfs.NewMem(), private(true))
	a, third := r.join("p/a"), r.join("q/third")
	a.chat("p/b", "secret", `,"receipt_requested":true`)
	a.typed("delivery_receipt")
	if frames := third.flush(); len(frames) != 0 {
		t.Errorf("a third saw %v", frames)
	}
	dead := func(who *agent) string {
		who.send(fmt.Sprintf(`{"sender":%q,"type":"state_request"}`, who.name))
		snap := who.typed("state_snapshot")["snapshot"].(map[string]any)
		return fmt.Sprint(snap["dead_letters"])
	}
	if rows := dead(third); rows != "[]" {
		t.Errorf("a third sees the dead letters %s", rows)
	}
	if rows := dead(a); !strings.Contains(rows, "p/b") {
		t.Errorf("the sender sees the dead letters %s", rows)
	}
	spy := r.join("q/spy", `,"roles":["\u0002p/b","\u0001","a\u0000b"],"mailbox":true`)
	spy.send(`{"sender":"q/spy","type":"who_request"}`)
	spy.until(func(g got) bool {
		if g.str("type") == "chat" {
			t.Errorf("a role read %v", g)
		}
		return g.str("type") == "who_snapshot"
	})
}

// A role is text of the agent: it names no list of the mailbox but its own.
func TestRolesNameNoOtherList(t *testing.T) {
	p := newPair(t, "p/*")
	a := p.alder.join("p/a")
	a.chat("p/b@birch", "from afar")
	p.carry(p.alder, p.birch)
	spy := p.birch.join("q/spy", `,"roles":["\u0002p/b","p/b"],"mailbox":true`)
	for _, g := range spy.flush() {
		if g.str("type") == "chat" {
			t.Errorf("a role read %v", g)
		}
	}
	b := p.birch.join("p/b", `,"mailbox":true`)
	if g := b.typed("chat"); g["payload"] != "from afar" {
		t.Errorf("replayed %v", g)
	}
}

// Section 7: which acks count.
func TestAckRules(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	a, b := r.join("p/a"), r.join("p/b")
	rx, other := r.join("p/b-rx"), r.join("p/c")
	seq := a.chat("p/b", "x", `,"receipt_requested":true`).num("seq")
	broad := a.chat("all", "y").num("seq")
	pending := func() string {
		a.send(`{"sender":"p/a","type":"who_request"}`)
		return fmt.Sprint(a.typed("who_snapshot")["mailbox_pending"].(map[string]any)["p/b"])
	}
	for _, c := range []struct {
		by   *agent
		body string
		want string
	}{
		{b, `"seq":true`, "1"},
		{b, fmt.Sprintf(`"seq":"%d"`, seq), "1"},
		{b, `"seq":0`, "1"},
		{b, `"seq":9999999`, "1"},
		{b, fmt.Sprintf(`"seq":%d`, broad), "1"},                       // not directed
		{other, fmt.Sprintf(`"seq":%d`, seq), "1"},                     // not addressed
		{other, fmt.Sprintf(`"seq":%d,"mailbox_for":"p/b"`, seq), "1"}, // falls back to its own name
		{a, fmt.Sprintf(`"seq":%d`, seq), "1"},                         // its own chat
		{rx, fmt.Sprintf(`"seq":%d`, seq), "1"},                        // the sidecar's own name
		{rx, fmt.Sprintf(`"seq":%d,"mailbox_for":"p/b"`, seq), "0"},
	} {
		c.by.send(fmt.Sprintf(`{"sender":%q,"type":"ack",%s}`, c.by.name, c.body))
		c.by.flush()
		if n := pending(); n != c.want {
			t.Errorf("after %s acked %s: %s pending", c.by.name, c.body, n)
		}
	}
}

// Section 8: a second ack does nothing; the receipt's immediate verdict is final
// when it says delivered.
func TestReceiptsEndOnce(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	a, b := r.join("p/a"), r.join("p/b")
	seq := a.chat("p/b", "live", `,"receipt_requested":true`).num("seq")
	if g := a.typed("delivery_receipt"); g["delivered"] != true || g["deferred"] != false {
		t.Fatalf("immediate %v", g)
	}
	gone := a.chat("p/c", "later", `,"receipt_requested":true`).num("seq")
	a.typed("delivery_receipt")
	c := r.join("p/c")
	for range 2 {
		b.send(fmt.Sprintf(`{"sender":"p/b","type":"ack","seq":%d}`, seq))
		b.flush()
		c.send(fmt.Sprintf(`{"sender":"p/c","type":"ack","seq":%d}`, gone))
		c.flush()
	}
	var receipts []got
	for _, g := range a.flush() {
		if g.str("type") == "delivery_receipt" {
			receipts = append(receipts, g)
		}
	}
	if len(receipts) != 1 || receipts[0].num("message_seq") != gone || receipts[0]["deferred"] != true {
		t.Errorf("after four acks: %v", receipts)
	}
}

// Purging twice is refused, in one turn and later; the node goes on.
func TestPurgeTwice(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	a := r.join("p/a")
	seq := a.chat("p/b", "to be forgotten").num("seq")
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- r.hub.PurgeBody(t.Context(), seq, "test", "asked") }()
	}
	if one, two := <-errs, <-errs; (one == nil) == (two == nil) {
		t.Errorf("purged at once: %v, %v", one, two)
	}
	if err := r.hub.PurgeBody(t.Context(), seq, "test", "asked"); err == nil {
		t.Error("purged a third time")
	}
	a.chat("p/b", "still here")
}

// A frame above the limit closes with 1009; one that would outgrow it once
// stamped is refused with its reason.
func TestLargeFrames(t *testing.T) {
	r := startRig(t, vfs.NewMem(), func(o *Options) { o.Limits.FrameBytes = 8 << 10 })
	a := r.join("p/a")
	a.send(fmt.Sprintf(`{"sender":"p/a","type":"chat","target":"p/b","client_msg_id":"m","payload":%q}`, strings.Repeat("x", 8000)))
	if g := a.typed("error"); g.str("error_code") != "message_too_large" || g.str("client_msg_id") != "m" {
		t.Errorf("answer %v", g)
	}
	a.send(fmt.Sprintf(`{"sender":"p/a","type":"chat","payload":%q}`, strings.Repeat("x", 9000)))
	if code, _, _ := a.closed(); code != 1009 {
		t.Errorf("closed %d", code)
	}
}

// A snapshot comes due by what the last one holds, however often a node starts.
func TestSnapshotsCountFromTheLast(t *testing.T) {
	fs := vfs.NewMem()
	for start := range 3 {
		r := startRig(t, fs)
		a := r.join("p/a")
		a.chat("p/b", fmt.Sprint(start))
		var st uint64
		if err := r.hub.operate(t.Context(), func(v *view, _ *draft) error { st = v.st.snapshot; return nil }); err != nil {
			t.Fatal(err)
		}
		if start == 0 != (st == 0) {
			t.Fatalf("start %d counts from %d", start, st)
		}
		if start == 0 {
			snapshotNow(t, r)
		}
		r.stop()
	}
}
