package hub

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// states are the states of all that waits for birch.
func states(t *testing.T, r *rig) (out []string) {
	t.Helper()
	recs, err := r.hub.QueueRecords("birch", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range recs {
		out = append(out, string(q.State))
	}
	return out
}

func opened(t *testing.T, r *rig) {
	t.Helper()
	if err := r.hub.LinkOpened(t.Context(), "birch", LinkInfo{Address: "192.0.2.7:1", Dialled: true}); err != nil {
		t.Fatal(err)
	}
}

// closed ends the link and waits until the hub has it.
func linkClosed(t *testing.T, r *rig, sent uint64) {
	t.Helper()
	r.hub.LinkClosed("birch", sent, wire.ReasonLinkLost)
	if err := r.hub.ofPeer(t.Context(), "birch", func(*view, *draft) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// What may have left is told from what has not: by a link that is open, by how far a
// closed one came, and after a crash by all there was.
func TestSentMark(t *testing.T) {
	fs := vfs.NewCrashableMem()
	r := startRig(t, fs, func(o *Options) { o.HubID = "alder" })
	approve(t, r, "birch", "proj/*")
	a := r.join("proj/a")
	check := func(when string, want ...string) {
		t.Helper()
		if got := states(t, r); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	const waits, left = "relay_pending", "relay_unconfirmed"
	a.chat("proj/b@birch", "1")
	linkClosed(t, r, 1) // no link was open
	check("before any link", waits)
	opened(t, r)
	a.chat("proj/b@birch", "2")
	a.chat("proj/b@birch", "3")
	check("while it is open", left, left, left)
	if q := queueOf(t, r, "birch"); !q.Up || q.Sent != 3 || q.UntilUS != 0 {
		t.Errorf("queue %+v", q)
	}
	linkClosed(t, r, 2)
	check("closed after the second", left, left, waits)
	if q := queueOf(t, r, "birch"); q.Up || q.Sent != 2 || q.UntilUS == 0 || q.MaxAgeS != 86400 {
		t.Errorf("queue %+v", q)
	}
	fs = fs.CrashClone(vfs.CrashCloneCfg{})
	r.stop()
	r = startRig(t, fs, func(o *Options) { o.HubID = "alder" })
	check("after a crash without a link", left, left, waits)
	a = r.join("proj/a")
	a.chat("proj/b@birch", "3.5")
	check("accepted without a link after a crash", left, left, waits, waits)
	opened(t, r)
	linkClosed(t, r, 0) // one that came to nothing takes nothing back
	check("closed again", left, left, waits, waits)
	opened(t, r)
	crash := fs.CrashClone(vfs.CrashCloneCfg{})
	r.stop()
	r = startRig(t, crash, func(o *Options) { o.HubID = "alder" })
	check("after a crash with an open link", left, left, left, left)
	r.join("proj/a").chat("proj/b@birch", "4")
	check("and then", left, left, left, left, waits)
}

// agedPair is a pair within a bubble whose chats may wait for a minute.
func agedPair(t *testing.T) (p *pair, a *tape) {
	p = virtualPair(t, "proj/*", func(o *Options) { o.Limits.PeerAge = time.Minute })
	return p, p.alder.record("proj/a", "")
}

func (k *tape) ask(to, text, extra string) {
	k.send(fmt.Sprintf(`{"sender":%q,"type":"chat","target":%q,"payload":%q,"client_msg_id":%q%s}`, k.name, to, text, text, extra))
	synctest.Wait()
}

// told are the ends that a tape has heard: error codes, and reasons of receipts that
// have expired.
func told(frames []got) (out []string) {
	for _, g := range frames {
		switch {
		case g.str("type") == "error":
			out = append(out, g.str("client_msg_id")+" "+g.str("error_code"))
		case g["expired"] == true:
			out = append(out, g.str("client_msg_id")+" expired "+g.str("reason"))
		}
	}
	return out
}

// A chat that never left is ended at its age, told once, and passed over by the far
// hub; what left, and what is younger, is not. The lane stays whole.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := agedPair(t)
		b := p.birch.record("proj/b", "")
		opened(t, p.alder)
		a.ask("proj/b@birch", "left", "")
		linkClosed(t, p.alder, 1)
		a.ask("proj/b@birch", "old", `,"receipt_requested":true`)
		a.ask("proj/b@birch", "old too", "")
		time.Sleep(30 * time.Second)
		a.ask("proj/b@birch", "young", "")
		time.Sleep(35 * time.Second)
		frames := a.since()
		if got := fmt.Sprint(told(frames)); got != "[old relay_expired old expired relay_expired old too relay_expired]" {
			t.Fatalf("told %s", got)
		}
		if got := fmt.Sprint(states(t, p.alder)); got != "[relay_unconfirmed relay_expired relay_expired relay_pending]" {
			t.Fatalf("states %s", got)
		}
		if q := queueOf(t, p.alder, "birch"); q.Records != 4 || q.Bytes != bodyOf("left")+bodyOf("young") {
			t.Errorf("queue %+v", q)
		}
		opened(t, p.alder)
		live := page(t, p.alder, "birch", Cursor{})
		if res := p.carry(p.alder, p.birch); len(res.Refused) != 0 || res.Cursor.Seq != 4 {
			t.Fatalf("result %+v", res)
		}
		for i, want := range []wire.LaneKind{wire.LaneChat, wire.LaneWithdrawn, wire.LaneWithdrawn, wire.LaneChat} {
			if live[i].Kind != want || (want == wire.LaneWithdrawn) != (len(live[i].Body) == 0) {
				t.Errorf("record %d is %v with %d bytes", i+1, live[i].Kind, len(live[i].Body))
			}
		}
		var heard []string
		for _, g := range b.since() {
			if g.str("type") == "chat" {
				heard = append(heard, g.str("payload"))
			}
		}
		if fmt.Sprint(heard) != "[left young]" {
			t.Errorf("the far seat heard %v", heard)
		}
		if q := queueOf(t, p.alder, "birch"); q.Records != 0 || q.Bytes != 0 {
			t.Errorf("drained queue %+v", q)
		}
		time.Sleep(2 * time.Minute)
		if more := told(a.since()); len(more) > 0 {
			t.Errorf("told again: %v", more)
		}
	})
}

func bodyOf(text string) uint64 {
	return uint64(len(fmt.Sprintf(`{"payload":%q,"client_msg_id":%q}`, text, text)))
}

// What was withdrawn stays so after a restart, read from the journal like from
// memory, and the end is kept for a sender that is away.
func TestWithdrawnSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := agedPair(t)
		a.ask("proj/b@birch", "old", "")
		a.ask("proj/b@birch", "older than that", "")
		_ = a.ws.CloseNow()
		time.Sleep(2 * time.Minute)
		live := page(t, p.alder, "birch", Cursor{})
		p.alder.hub.published.lanes["birch"].ring = ring{}
		stored := page(t, p.alder, "birch", Cursor{})
		for i := range 2 {
			if len(live) != 2 || len(stored) != 2 || live[i].Kind != wire.LaneWithdrawn || stored[i].Kind != wire.LaneWithdrawn ||
				live[i].LaneHash != stored[i].LaneHash || len(stored[i].Body) > 0 {
				t.Fatalf("record %d: %+v, stored %+v", i+1, live, stored)
			}
		}
		back := p.alder.record("proj/a", "")
		if got := fmt.Sprint(told(back.since())); got != "[old relay_expired older than that relay_expired]" {
			t.Errorf("told %s", got)
		}
	})
}

// A link that is open keeps everything, however old; receipts never age; a queue that
// was full of what is withdrawn takes again.
func TestWhatDoesNotAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := virtualPair(t, "proj/*", func(o *Options) { o.Limits.PeerAge, o.Limits.PeerBytes = time.Minute, 1000 })
		a, b := p.alder.record("proj/a", ""), p.birch.record("proj/b", "")
		opened(t, p.alder)
		a.ask("proj/b@birch", "may have left", `,"receipt_requested":true`)
		time.Sleep(5 * time.Minute)
		if got := told(a.since()); len(got) > 0 {
			t.Fatalf("told %v", got)
		}
		p.carry(p.alder, p.birch)
		time.Sleep(5 * time.Minute) // the receipt waits at birch
		b.ask("proj/a@alder", strings.Repeat("x", 700), "")
		b.ask("proj/a@alder", strings.Repeat("y", 700), "")
		if got := told(b.since()); len(got) != 1 || !strings.HasSuffix(got[0], " outbox_full") {
			t.Fatalf("a full queue: %v", got)
		}
		time.Sleep(2 * time.Minute)
		b.ask("proj/a@alder", "room again", "")
		if got := told(b.since()); len(got) != 1 || !strings.HasSuffix(got[0], " relay_expired") {
			t.Fatalf("an aged queue: %v", got)
		}
		kinds := []wire.LaneKind{}
		for _, rec := range page(t, p.birch, "alder", Cursor{}) {
			kinds = append(kinds, rec.Kind)
		}
		if fmt.Sprint(kinds) != "[receipt withdrawn chat]" {
			t.Errorf("kinds %v", kinds)
		}
	})
}

// Many are ended in turns of their own.
func TestManyWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := agedPair(t)
		const n = 3*agedAtOnce + 1
		for i := range n {
			a.send(fmt.Sprintf(`{"sender":"proj/a","type":"chat","target":"proj/b@birch","payload":%d,"client_msg_id":"%d"}`, i, i))
		}
		a.since()
		time.Sleep(61 * time.Second)
		if got := told(a.since()); len(got) != n {
			t.Errorf("%d told of %d", len(got), n)
		}
		if q := queueOf(t, p.alder, "birch"); q.Records != n || q.Bytes != 0 {
			t.Errorf("queue %+v", q)
		}
	})
}

// A chat is not withdrawn on an old look: a link may have been opened since.
func TestWithdrawnOnlyWhatNeverLeft(t *testing.T) {
	st := newState("alder")
	w := rowTables{}
	for seq := range uint64(3) {
		w.chat(st, seq+1, 10)
	}
	v := &view{st: st, ro: newRoster(), now: time.Hour.Microseconds(), config: config{limits: Limits{PeerAge: time.Minute}}}
	may := func(seq uint64) bool { return v.mayWithdraw(&agedChat{peer: "birch", laneSeq: seq, acceptedUS: 1}) }
	if !may(1) || may(4) {
		t.Error("before any link")
	}
	st.linkOpened(&journal.LinkOpened{Peer: "birch", Head: 3})
	if may(1) || may(3) {
		t.Error("while one is open")
	}
	st.linkClosed(&journal.LinkClosed{Peer: "birch", Sent: 2})
	if may(2) || !may(3) {
		t.Error("after one that came to the second")
	}
	v.now = time.Second.Microseconds()
	if may(3) {
		t.Error("before its time")
	}
}
