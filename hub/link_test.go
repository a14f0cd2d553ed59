package hub

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// pair is two hubs that approve each other; carry moves what waits, as a relay
// would.
type pair struct {
	t            *testing.T
	alder, birch *rig
}

func newPair(t *testing.T, reach string, adjust ...func(*Options)) *pair {
	t.Helper()
	p := &pair{t: t}
	p.alder = startRig(t, vfs.NewMem(), append(adjust, func(o *Options) { o.HubID = "alder" })...)
	p.birch = startRig(t, vfs.NewMem(), append(adjust, func(o *Options) { o.HubID = "birch" })...)
	approve(t, p.alder, "birch", reach)
	approve(t, p.birch, "alder", reach)
	return p
}

func approve(t *testing.T, r *rig, hub wire.HubID, reach string) {
	t.Helper()
	pattern, err := wire.ParsePattern(reach)
	if err != nil {
		t.Fatal(err)
	}
	var pin federation.Pin
	copy(pin[:], hub)
	_, err = r.hub.Approve(t.Context(), Approval{Peer: federation.Peer{
		Hub: hub, Endpoints: []string{"127.0.0.1:1"}, Pins: []federation.Pin{pin}, MayReach: []wire.Pattern{pattern}, By: "test",
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// page reads what one hub owes another as the records a link would hand over.
func page(t *testing.T, from *rig, to wire.HubID, at Cursor) []InRecord {
	t.Helper()
	out, err := from.hub.Outbox(to, at.Seq, 1000, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	hash := at.Hash
	recs := make([]InRecord, 0, len(out))
	for _, r := range out {
		o := r.Origin
		hash = linkOf(r.Kind, &o).Next(hash)
		recs = append(recs, inRecord(t, &r, hash))
	}
	return recs
}

// inRecord reads a record's body as a link does.
func inRecord(t *testing.T, r *OutRecord, hash [32]byte) InRecord {
	t.Helper()
	in := InRecord{Kind: r.Kind, Origin: r.Origin, Body: r.Body, LaneHash: hash}
	switch r.Kind {
	case wire.LaneChat:
		carried, err := wire.ParseCarried(r.Body, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		in.ReceiptRequested = carried.ReceiptRequested
	case wire.LaneReceipt:
		said, err := wire.ParseVerdicts(r.Body)
		if err != nil {
			t.Fatalf("%s: %v", r.Body, err)
		}
		in.Verdicts = said
	}
	return in
}

// hand gives records to a hub and waits for its answer.
func hand(t *testing.T, to *rig, from wire.HubID, recs []InRecord) InboundResult {
	t.Helper()
	done := make(chan InboundResult, 1)
	if err := to.hub.Inbound(t.Context(), from, recs, func(r InboundResult) { done <- r }); err != nil {
		t.Fatal(err)
	}
	return <-done
}

// carry moves everything one hub owes the other and acknowledges it.
func (p *pair) carry(from, to *rig) InboundResult {
	p.t.Helper()
	res := hand(p.t, to, from.hub.Self(), page(p.t, from, to.hub.Self(), to.hub.LaneIn(from.hub.Self())))
	if res.Err != nil {
		p.t.Fatal(res.Err)
	}
	if err := from.hub.Acked(p.t.Context(), to.hub.Self(), res.Cursor.Seq, res.Refused); err != nil {
		p.t.Fatal(err)
	}
	return res
}

// A message across: the sender has its own copy, the recipient sees where it
// came from, the outbox is trimmed after the acknowledgement.
func TestChatAcross(t *testing.T) {
	p := newPair(t, "proj/*")
	a, b := p.alder.join("proj/a"), p.birch.join("proj/b")
	witness := p.birch.join("proj/c")
	own := a.chat("proj/b@birch", "over there", `,"client_msg_id":"m-1","note":[1,2]`)
	p.carry(p.alder, p.birch)
	g := b.typed("chat")
	if g.str("sender") != "proj/a@alder" || g.str("target") != "proj/b" || g.str("hub_id") != "birch" ||
		g.str("client_msg_id") != "m-1" || fmt.Sprint(g["note"]) != "[1 2]" {
		t.Fatalf("delivered %v", g)
	}
	if own.str("hub_id") != "alder" || own.num("seq") == 0 {
		t.Fatalf("own copy %v", own)
	}
	witness.chat("proj/c", "nothing before this")
	if out := p.alder.hub.LaneOut("birch"); out != (LaneOut{Head: 1, Acked: 1}) {
		t.Fatalf("lane %+v", out)
	}
	if recs, err := p.alder.hub.Outbox("birch", 0, 10, 1<<20); err != nil || len(recs) != 0 {
		t.Fatalf("the outbox still holds %d records, %v", len(recs), err)
	}
	b.chat("proj/a@alder", "and back")
	p.carry(p.birch, p.alder)
	if g := a.until(func(g got) bool { return g.str("sender") == "proj/b@birch" }); g["payload"] != "and back" {
		t.Fatalf("came back %v", g)
	}
}

// Records that come again are passed over; a gap and another epoch are refused;
// nothing of them changes the cursor.
func TestInboundDuplicatesAndGaps(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	for i := range 4 {
		a.chat("proj/b@birch", fmt.Sprint("text ", i))
	}
	recs := page(t, p.alder, "birch", Cursor{})
	if res := hand(t, p.birch, "alder", recs[:2]); res.Err != nil || res.Cursor.Seq != 2 || res.Cursor.Hash != recs[1].LaneHash {
		t.Fatalf("first two: %+v", res)
	}
	head, _ := p.birch.store.Head()
	if res := hand(t, p.birch, "alder", recs[:2]); res.Err != nil || res.Cursor.Seq != 2 {
		t.Fatalf("again: %+v", res)
	}
	if again, _ := p.birch.store.Head(); again != head {
		t.Fatal("a duplicate was journalled")
	}
	wantReason(t, hand(t, p.birch, "alder", recs[3:]).Err, wire.ReasonLinkProtocol)
	other := recs[2]
	other.Origin.EpochID[0]++
	wantReason(t, hand(t, p.birch, "alder", []InRecord{other}).Err, wire.ReasonRewound)
	if res := hand(t, p.birch, "alder", recs); res.Err != nil || res.Cursor.Seq != 4 {
		t.Fatalf("the whole page: %+v", res)
	}
	wantReason(t, p.alder.hub.Acked(t.Context(), "birch", 99, nil), wire.ReasonRewound)
}

// A seat that was not granted cannot be reached, and its sender is told by the
// far hub's word; the lane goes on.
func TestRefusedAcross(t *testing.T) {
	p := newPair(t, "open/*")
	a := p.alder.join("proj/a")
	a.send(`{"sender":"proj/a","type":"chat","target":"proj/b@birch","payload":"x","client_msg_id":"m-9"}`)
	a.send(`{"sender":"proj/a","type":"chat","target":"proj/b@birch","payload":"y","timestamp":12.5}`)
	a.chat("open/b@birch", "granted")
	if res := p.carry(p.alder, p.birch); len(res.Refused) != 2 || res.Cursor.Seq != 3 {
		t.Fatalf("result %+v", res)
	}
	if out := p.alder.hub.LaneOut("birch"); out != (LaneOut{Head: 3, Acked: 3, Denied: 2}) {
		t.Fatalf("lane %+v", out)
	}
	if s, err := p.alder.hub.Status(t.Context()); err != nil || s.Refusals[wire.ReasonNotPermitted] != 2 {
		t.Fatalf("refusals counted: %v, %v", s.Refusals, err)
	}
	if again := p.birch.hub.LaneRefused("alder", 1); len(again) != 1 || again[0].Seq != 2 {
		t.Fatalf("refusals above 1: %v", again)
	}
	first, second := a.typed("error"), a.typed("error")
	if first.str("error_code") != "not_permitted" || first.str("client_msg_id") != "m-9" {
		t.Fatalf("first refusal %v", first)
	}
	if second.str("error_code") != "not_permitted" || second["client_timestamp"] != 12.5 {
		t.Fatalf("second refusal %v", second)
	}
}

// Addresses that name no single seat of a peer are refused where they are sent.
func TestRefusedAtTheOrigin(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	for target, reason := range map[string]string{
		"proj/b@oak":           "unknown_hub",
		"proj/*@birch":         "invalid_address",
		"proj/b@birch,proj/c":  "one_target_only",
		"proj/b@birch,x@birch": "one_target_only",
		"@birch":               "invalid_address",
		"proj/b@not a hub":     "invalid_address",
	} {
		a.send(fmt.Sprintf(`{"sender":"proj/a","type":"chat","target":%q,"payload":"x","client_msg_id":%q}`, target, target))
		if g := a.typed("error"); g.str("error_code") != reason || g.str("client_msg_id") != target {
			t.Errorf("%s: %v", target, g)
		}
	}
	if g := a.chat("proj/b@alder", "home"); g.str("target") != "proj/b" {
		t.Errorf("an address of this hub: %v", g)
	}
}

// A record whose decision panics is set aside; the records around it arrive.
func TestInboundQuarantine(t *testing.T) {
	p := newPair(t, "proj/*")
	birch := startRig(t, vfs.NewMem(), func(o *Options) { o.HubID, o.Fault = "birch", "panic" })
	approve(t, birch, "alder", "proj/*")
	a, b := p.alder.join("proj/a"), birch.join("proj/b")
	a.chat("proj/b@birch", "one")
	a.chat("proj/b@birch", "testing__panic")
	a.chat("proj/b@birch", "three")
	res := hand(t, birch, "alder", page(t, p.alder, "birch", Cursor{}))
	if res.Err != nil || res.Cursor.Seq != 3 || len(res.Refused) != 1 || res.Refused[0].Reason != wire.ReasonQuarantined {
		t.Fatalf("result %+v", res)
	}
	if x, y := b.typed("chat"), b.typed("chat"); x["payload"] != "one" || y["payload"] != "three" {
		t.Fatalf("delivered %v, %v", x, y)
	}
}

// What is owed survives a restart and is read from the journal, in order.
func TestOutboxSurvives(t *testing.T) {
	fs := vfs.NewMem()
	r := startRig(t, fs, func(o *Options) { o.HubID = "alder" })
	approve(t, r, "birch", "proj/*")
	a := r.join("proj/a")
	for i := range 10 {
		a.chat("proj/b@birch", fmt.Sprint("text ", i))
	}
	live := page(t, r, "birch", Cursor{})
	r.stop()
	r = startRig(t, fs, func(o *Options) { o.HubID = "alder" })
	stored := page(t, r, "birch", Cursor{})
	if len(stored) != 10 || len(live) != 10 {
		t.Fatalf("%d live, %d stored", len(live), len(stored))
	}
	for i := range stored {
		if stored[i].LaneHash != live[i].LaneHash || string(stored[i].Body) != string(live[i].Body) {
			t.Fatalf("record %d differs after the restart", i+1)
		}
		if hash, ok := r.hub.LaneHash("birch", uint64(i+1)); !ok || hash != live[i].LaneHash {
			t.Fatalf("lane hash %d: %v", i+1, ok)
		}
	}
	if recs, _ := r.hub.Outbox("birch", 3, 2, 1<<20); len(recs) != 2 || recs[0].Seq != 4 {
		t.Fatalf("page after 3: %v", recs)
	}
}

func wantReason(t *testing.T, err error, want wire.Reason) {
	t.Helper()
	var he *Error
	if !errors.As(err, &he) || he.Reason != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// What a peer may not send leaves a record and no bytes; what is faulty leaves both.
func TestRefusedBodies(t *testing.T) {
	p := newPair(t, "open/*")
	a := p.alder.join("proj/a")
	a.chat("proj/b@birch", "not granted")
	a.chat("open/b@birch", "a name that looks like the hub's own")
	recs := page(t, p.alder, "birch", Cursor{})
	recs[1].Origin.Sender = "SynapseHub"
	res := hand(t, p.birch, "alder", recs)
	if len(res.Refused) != 2 || res.Refused[0].Reason != wire.ReasonNotPermitted || res.Refused[1].Reason != wire.ReasonReservedIdentity {
		t.Fatalf("refused %v", res.Refused)
	}
	head, _ := p.birch.store.Head()
	for i, want := range []bool{false, true} {
		if ev, ok, err := p.birch.store.Event(head - 1 + uint64(i)); err != nil || !ok || ev.HasBody != want {
			t.Errorf("refusal %d keeps its body: %v, %v", i+1, ev.HasBody, err)
		}
	}
}

// The number of a message here means nothing on another hub, so an answer that
// names one is not sent there.
func TestAnswerAcross(t *testing.T) {
	p := newPair(t, "proj/*")
	a, b := p.alder.join("proj/a"), p.birch.join("proj/b")
	a.chat("proj/b@birch", "question")
	p.carry(p.alder, p.birch)
	seq := b.typed("chat").num("seq")
	b.send(fmt.Sprintf(`{"sender":"proj/b","type":"chat","target":"proj/a@alder","payload":"x","client_msg_id":"r",`+
		`"response_to_seq":%d,"response_status":"completed","response_evidence_scope":"recipient"}`, seq))
	if g := b.typed("error"); g.str("error_code") != "invalid_answer" || g.str("client_msg_id") != "r" {
		t.Fatalf("answer %v", g)
	}
}
