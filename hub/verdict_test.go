package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

const asked = `,"client_msg_id":"m-1","receipt_requested":true`

// bothWays carries until neither hub owes the other anything.
func (p *pair) bothWays() {
	p.t.Helper()
	for _, way := range [][2]*rig{{p.alder, p.birch}, {p.birch, p.alder}} {
		if out := way[0].hub.LaneOut(way[1].hub.Self()); out.Head > out.Acked {
			p.carry(way[0], way[1])
		}
	}
}

// A chat to a live seat: one receipt, from the far hub, with names as they are
// written here and the id of this hub's chat.
func TestReceiptAcross(t *testing.T) {
	p := newPair(t, "proj/*")
	a, b := p.alder.join("proj/a"), p.birch.join("proj/b", `,"wake_capability":"direct"`)
	own := a.chat("proj/b@birch", "over there", asked)
	p.bothWays()
	b.typed("chat")
	g := a.typed("delivery_receipt")
	if g["delivered"] != true || g["deferred"] != false || g.str("remote_hub") != "birch" || g.str("hub_id") != "alder" ||
		fmt.Sprint(g["recipients"], g["matched_recipients"], g["stale_recipients"]) != "[proj/b@birch] [proj/b@birch] []" ||
		fmt.Sprint(g["recipient_wake_capabilities"]) != "map[proj/b@birch:direct]" || g.str("client_msg_id") != "m-1" ||
		g.num("message_seq") != own.num("seq") || g.num("message_id") != own.num("msg_id") || g.str("message_target") != "proj/b@birch" ||
		g.str("receipt_notification_id") != fmt.Sprintf("delivery-receipt:%d:immediate_delivered", own.num("seq")) {
		t.Fatalf("receipt %v", g)
	}
	a.chat("proj/a", "nothing between")
	if s, err := p.alder.hub.Status(t.Context()); err != nil || s.AwaitedReceipts != 0 {
		t.Errorf("%d receipts awaited, %v", s.AwaitedReceipts, err)
	}
	if out := p.birch.hub.LaneOut("alder"); out != (LaneOut{Head: 1, Acked: 1}) {
		t.Errorf("the way back %+v", out)
	}
}

// Nobody is asked for what was not requested, and a refused chat has no verdict.
func TestNoReceiptUnasked(t *testing.T) {
	p := newPair(t, "open/*")
	a := p.alder.join("proj/a")
	a.chat("open/b@birch", "x")
	a.chat("proj/b@birch", "y", asked)
	p.carry(p.alder, p.birch)
	if out := p.birch.hub.LaneOut("alder"); out.Head != 0 {
		t.Errorf("the way back %+v", out)
	}
}

// A seat that is away: the immediate receipt says so, and the deferred one follows
// its acknowledgement, through restarts of both hubs.
// A receipt that waits for a seat which the peer may not reach any more ends at once: its end at another time would tell
// that the seat came.
func TestNarrowedGrantEndsReceipts(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	a.chat("proj/b@birch", "over there", asked)
	p.bothWays()
	a.typed("delivery_receipt")
	narrow, known := p.birch.hub.Trust().Peer("alder")
	pattern, err := wire.ParsePattern("open/*")
	if !known || err != nil {
		t.Fatal(known, err)
	}
	narrow.MayReach = []wire.Pattern{pattern}
	if _, err := p.birch.hub.Approve(t.Context(), Approval{Peer: narrow, Replace: true}); err != nil {
		t.Fatal(err)
	}
	p.bothWays()
	if g := a.typed("delivery_receipt"); g["expired"] != true || g.str("reason") != "not_permitted" {
		t.Fatalf("the end %v", g)
	}
	b := p.birch.join("proj/b", `,"mailbox":true,"since_seq":0`)
	b.send(fmt.Sprintf(`{"sender":"proj/b","type":"ack","seq":%d}`, b.typed("chat").num("seq")))
	b.chat("proj/b", "the hub has the acknowledgement")
	if out := p.birch.hub.LaneOut("alder"); out.Head != 2 {
		t.Errorf("the way back %+v", out)
	}
}

func TestDeferredAcross(t *testing.T) {
	fs := map[wire.HubID]vfs.FS{"alder": vfs.NewMem(), "birch": vfs.NewMem()}
	start := func(id wire.HubID) *rig { return startRig(t, fs[id], func(o *Options) { o.HubID = id }) }
	p := &pair{t: t, alder: start("alder"), birch: start("birch")}
	approve(t, p.alder, "birch", "proj/*")
	approve(t, p.birch, "alder", "proj/*")
	a := p.alder.join("proj/a")
	seq := a.chat("proj/b@birch", "over there", asked).num("seq")
	p.carry(p.alder, p.birch)
	live := page(t, p.birch, "alder", Cursor{})
	p.birch.stop()
	p.birch = start("birch")
	if stored := page(t, p.birch, "alder", Cursor{}); len(stored) != 1 || len(live) != 1 ||
		stored[0].LaneHash != live[0].LaneHash || string(stored[0].Body) != string(live[0].Body) {
		t.Fatal("the verdict differs after a restart")
	}
	p.bothWays()
	g := a.typed("delivery_receipt")
	if g["delivered"] != false || g.str("reason") != "no_online_recipient" || g["dead_lettered"] != true || g.str("remote_hub") != "birch" ||
		g.str("receipt_notification_id") != fmt.Sprintf("delivery-receipt:%d:pending", seq) {
		t.Fatalf("immediate %v", g)
	}
	p.alder.stop()
	p.alder = start("alder")
	b := p.birch.join("proj/b", `,"mailbox":true,"since_seq":0`)
	there := b.typed("chat").num("seq")
	for range 2 { // the second one settles nothing
		b.send(fmt.Sprintf(`{"sender":"proj/b","type":"ack","seq":%d}`, there))
	}
	b.chat("proj/b", "the hub has the acknowledgement")
	p.bothWays()
	a = p.alder.dial("proj/a")
	a.send(`{"sender":"proj/a","type":"heartbeat"}`)
	g = a.until(func(g got) bool { return g["deferred"] == true })
	if g["delivered"] != true || fmt.Sprint(g["recipients"]) != "[proj/b@birch]" || g.str("remote_hub") != "birch" ||
		g.str("receipt_notification_id") != fmt.Sprintf("delivery-receipt:%d:deferred", seq) {
		t.Fatalf("deferred %v", g)
	}
	if out := p.birch.hub.LaneOut("alder"); out.Head != 2 {
		t.Errorf("the way back %+v", out)
	}
}

// The notification of a far verdict waits for its sender like any other.
func TestReceiptWaitsForItsSender(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	p.birch.join("proj/b")
	a.chat("proj/b@birch", "over there", asked)
	_ = a.ws.CloseNow()
	again := p.alder.join("proj/c") // the hub has let go of the name by the time it has another
	for {
		again.send(`{"sender":"proj/c","type":"who_request"}`)
		if !slices.Contains(again.typed("who_snapshot")["online_agents"].([]any), any("proj/a")) {
			break
		}
	}
	p.bothWays()
	back := p.alder.dial("proj/a")
	back.send(`{"sender":"proj/a","type":"heartbeat"}`)
	if g := back.typed("delivery_receipt"); g["delivered"] != true || g.str("remote_hub") != "birch" {
		t.Fatalf("receipt %v", g)
	}
}

// A chat the far hub does not admit: the error, and the end of its receipt.
func TestReceiptOfARefusedChat(t *testing.T) {
	p := newPair(t, "open/*")
	a := p.alder.join("proj/a")
	a.chat("proj/b@birch", "x", asked)
	p.carry(p.alder, p.birch)
	if g := a.typed("error"); g.str("error_code") != "not_permitted" {
		t.Fatalf("error %v", g)
	}
	g := a.typed("delivery_receipt")
	if g["delivered"] != false || g.str("reason") != "not_permitted" || g.str("remote_hub") != "birch" || g["expired"] != nil ||
		!strings.HasSuffix(g.str("receipt_notification_id"), ":pending") {
		t.Fatalf("receipt %v", g)
	}
}

// virtualPair is a pair within a bubble.
func virtualPair(t *testing.T, reach string, adjust ...func(*Options)) *pair {
	p := &pair{t: t}
	p.alder = startVirtual(t, append(adjust, func(o *Options) { o.HubID = "alder" })...)
	p.birch = startVirtual(t, append(adjust, func(o *Options) { o.HubID = "birch" })...)
	approve(t, p.alder, "birch", reach)
	approve(t, p.birch, "alder", reach)
	return p
}

// receipts are the receipts among frames.
func receipts(frames []got) (out []got) {
	for _, g := range frames {
		if g.str("type") == "delivery_receipt" {
			out = append(out, g)
		}
	}
	return out
}

// The far verdict is awaited for five seconds; then the sender is told what is known
// here, once, and a verdict after that is the deferred one.
func TestNoVerdictInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := virtualPair(t, "proj/*")
		a := p.alder.record("proj/a", "")
		p.birch.record("proj/b", "")
		a.send(`{"sender":"proj/a","type":"chat","target":"proj/b@birch","payload":"x"` + asked + `}`)
		time.Sleep(remotePatience*time.Microsecond - time.Millisecond)
		if early := receipts(a.since()); len(early) > 0 {
			t.Fatalf("told early: %v", early)
		}
		time.Sleep(1100 * time.Millisecond)
		told := receipts(a.since())
		if len(told) != 1 || told[0]["delivered"] != false || told[0].str("reason") != "relay_pending" || told[0].str("remote_hub") != "birch" ||
			!strings.HasSuffix(told[0].str("receipt_notification_id"), ":pending") {
			t.Fatalf("told %v", told)
		}
		p.bothWays()
		told = receipts(a.since())
		if len(told) != 1 || told[0]["deferred"] != true || told[0]["delivered"] != true || fmt.Sprint(told[0]["recipients"]) != "[proj/b@birch]" {
			t.Fatalf("then %v", told)
		}
		time.Sleep(time.Minute)
		if more := receipts(a.since()); len(more) > 0 {
			t.Fatalf("and then %v", more)
		}
	})
}

// What the far hub has and says nothing of is admitted; what it refuses after the
// sender was told ends as expired.
func TestWhatIsKnownAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := virtualPair(t, "proj/*")
		a := p.alder.record("proj/a", "")
		a.send(`{"sender":"proj/a","type":"chat","target":"proj/b@birch","payload":"x"` + asked + `}`)
		a.send(`{"sender":"proj/a","type":"chat","target":"other/b@birch","payload":"y"` + asked + `}`)
		a.since()
		if err := p.alder.hub.Acked(t.Context(), "birch", 1, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		told := receipts(a.since())
		if len(told) != 2 || told[0].str("reason") != "relay_admitted" || told[1].str("reason") != "relay_pending" {
			t.Fatalf("told %v", told)
		}
		if err := p.alder.hub.Acked(t.Context(), "birch", 2, []Refusal{{Seq: 2, Reason: "not_permitted"}}); err != nil {
			t.Fatal(err)
		}
		frames := a.since()
		told = receipts(frames)
		if len(told) != 1 || told[0]["expired"] != true || told[0].str("reason") != "not_permitted" || told[0].str("remote_hub") != "birch" {
			t.Fatalf("then %v", frames)
		}
	})
}

// Many at once are told in turns of their own, and all of them.
func TestManyDueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := virtualPair(t, "proj/*")
		a := p.alder.record("proj/a", "")
		const n = 3*dueAtOnce + 1
		for i := range n {
			a.send(fmt.Sprintf(`{"sender":"proj/a","type":"chat","target":"proj/b@birch","payload":%d`, i) + asked + `}`)
		}
		a.since()
		time.Sleep(6 * time.Second)
		if told := receipts(a.since()); len(told) != n {
			t.Errorf("%d told of %d", len(told), n)
		}
	})
}

// A receipt that is about no record of ours, or about another seat, is refused and
// settles nothing; one that nobody waits for is passed over.
func TestBadVerdicts(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	p.birch.join("proj/b")
	a.chat("proj/b@birch", "x", asked)
	p.carry(p.alder, p.birch)
	good := page(t, p.birch, "alder", Cursor{})[0]
	lie := func(seq uint64, change func(v *wire.Verdict)) InRecord {
		said := good.Verdicts[0]
		said.Recipients, said.Wake = slices.Clone(said.Recipients), nil
		change(&said)
		rec := good
		rec.Origin.LaneSeq, rec.Verdicts = seq, []wire.Verdict{said}
		return rec
	}
	res := hand(t, p.alder, "birch", []InRecord{
		lie(1, func(v *wire.Verdict) { v.Recipients[0] = "proj/other" }),
		lie(2, func(v *wire.Verdict) { v.LaneSeq = 99 }),
		good2(good, 3), good2(good, 4),
	})
	if len(res.Refused) != 2 || res.Refused[0].Reason != wire.ReasonMalformedReceipt || res.Refused[1].Reason != wire.ReasonMalformedReceipt ||
		res.Cursor.Seq != 4 {
		t.Fatalf("result %+v", res)
	}
	a.typed("delivery_receipt")
	a.send(`{"sender":"proj/a","type":"who_request"}`)
	if g := a.until(func(g got) bool { return g.str("type") != "chat" }); g.str("type") != "who_snapshot" {
		t.Errorf("after the receipt: %v", g)
	}
}

func good2(rec InRecord, seq uint64) InRecord {
	rec.Origin.LaneSeq = seq
	return rec
}

// A link that admits no receipts, or only the first one: the sender is told at once
// that no more comes, or gets the first verdict and nothing waits after it.
func TestReceiptsOfTheProfile(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	agree := func(most federation.Receipts) {
		profile := federation.Profile{Version: 1, Ceiling: federation.BuildCeiling(1 << 20)}
		profile.Receipts = most
		for _, r := range []*rig{p.alder, p.birch} {
			peer := map[wire.HubID]wire.HubID{"alder": "birch", "birch": "alder"}[r.hub.Self()]
			if err := r.hub.ProfileAgreed(t.Context(), peer, profile); err != nil {
				t.Fatal(err)
			}
		}
	}
	awaited := func(when string) {
		t.Helper()
		s, err := p.alder.hub.Status(t.Context())
		pending := 0
		if err == nil {
			err = p.birch.hub.operate(t.Context(), func(v *view, _ *draft) error { pending = v.st.laneOf("alder").pending.len(); return nil })
		}
		if err != nil || s.AwaitedReceipts != 0 || pending != 0 {
			t.Errorf("%s: %d awaited, %d pending, %v", when, s.AwaitedReceipts, pending, err)
		}
	}
	agree(federation.ReceiptsNone)
	a.chat("proj/b@birch", "x", asked)
	if g := a.typed("delivery_receipt"); g["delivered"] != false || g.str("reason") != "profile_gap" || g.str("remote_hub") != "birch" {
		t.Errorf("none: %v", g)
	}
	p.carry(p.alder, p.birch)
	if out := p.birch.hub.LaneOut("alder"); out.Head != 0 {
		t.Errorf("none: the way back %+v", out)
	}
	awaited("none")
	agree(federation.ReceiptsImmediate)
	a.chat("proj/b@birch", "y", asked)
	p.bothWays()
	if g := a.typed("delivery_receipt"); g.str("reason") != "no_online_recipient" {
		t.Errorf("immediate: %v", g)
	}
	awaited("immediate")
}

// The oldest receipt pushed out at the far hub is told across; local receipts are not
// pushed out by a peer's.
func TestPendingWindowOfAPeer(t *testing.T) {
	p := newPair(t, "proj/*")
	a, c := p.alder.join("proj/a"), p.birch.join("proj/c")
	mine := c.chat("proj/away", "local", `,"receipt_requested":true`)
	first := a.chat("proj/b@birch", "first", asked).num("seq")
	for i := range pendingReceipts {
		a.send(fmt.Sprintf(`{"sender":"proj/a","type":"chat","target":"proj/b@birch","payload":"%d"`, i) + asked + `}`)
	}
	a.until(func(g got) bool { return g["payload"] == fmt.Sprint(pendingReceipts-1) })
	for p.birch.hub.LaneIn("alder").Seq < 1+pendingReceipts {
		p.bothWays()
	}
	p.bothWays()
	g := a.until(func(g got) bool { return g["expired"] == true })
	if g.str("reason") != "pending_window_evicted" || g.num("message_seq") != first || g.str("remote_hub") != "birch" {
		t.Fatalf("pushed out %v", g)
	}
	err := p.birch.hub.operate(t.Context(), func(v *view, _ *draft) error {
		if _, ok := v.st.pending.get(mine.num("seq")); !ok {
			t.Error("a peer has pushed out a local receipt")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The oldest of too many senders that wait for other hubs is told that nobody waits
// any more.
func TestRemoteWindow(t *testing.T) {
	l := newLab(t)
	l.core.view.config.limits = Options{}.withDefaults().Limits
	st := l.core.view.st
	ask := func() *turn {
		turn := l.turn()
		l.core.one(turn, chatTo(l.all[0], "project-0/x@birch"))
		return turn
	}
	first := st.waits.oldest().chatSeq // the lab has asked once
	for i := range uint64(remoteWaits - 1) {
		st.waits.push(&remoteWait{peer: "oak", laneSeq: i + 1, chatSeq: first + i + 1, told: true})
	}
	facts := ask().facts
	r, ok := facts[0].record.(journal.ReceiptSettled)
	if !ok || len(facts) != 2 || r.ChatSeq != first || r.State != journal.ReceiptExpired || r.Reason != "pending_window_evicted" || r.RemoteHub != "birch" {
		t.Errorf("facts %+v", facts)
	}
	if st.waits.len() != remoteWaits || st.waits.oldest().chatSeq != first+1 {
		t.Errorf("%d waits, the oldest of chat %d", st.waits.len(), st.waits.oldest().chatSeq)
	}
}

// Whatever comes and when: the sender is told at most one immediate receipt, at most
// one end after it, and nothing after the end.
func TestTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := newState("alder")
		w := rowTables{}
		w.chat(st, 1, 10)
		st.waits.push(&remoteWait{peer: "birch", laneSeq: 1, chatSeq: 1})
		var told []journal.ReceiptState
		for seq := range rapid.Uint64Range(1, 6).Draw(t, "verdicts") {
			wait := st.waits.get("birch", 1)
			if wait != nil && !wait.told && rapid.Bool().Draw(t, "late") {
				rec := journal.ReceiptSettled{ChatSeq: 1, State: journal.ReceiptPending, RemoteHub: "birch", About: 1}
				ev := journal.NewEvent(st.head+1, 1, rec)
				st.apply(&ev, rec, w)
				told = append(told, rec.State)
			}
			said := journal.FarVerdict{About: 1, State: journal.ReceiptState(rapid.IntRange(1, 4).Draw(t, "state"))}
			if wait != nil {
				said.Tells = wait.tells(said.State)
			}
			rec := journal.VerdictsHeard{Origin: journal.Origin{Hub: "birch", LaneSeq: seq + 1}, Verdicts: []journal.FarVerdict{said}}
			ev := journal.NewEvent(st.head+1, 1, rec)
			st.apply(&ev, rec, w)
			if said.Tells != 0 {
				told = append(told, said.Tells)
			}
		}
		if !slices.ContainsFunc(endings, func(e []journal.ReceiptState) bool { return slices.Equal(e, told) }) {
			t.Fatalf("told %v", told)
		}
	})
}
