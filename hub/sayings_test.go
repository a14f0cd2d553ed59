package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// What one turn says to a peer is one record, each sender is told all of it under the
// ids of its own chats, and a sender that is away finds all of it later.
func TestVerdictsOfOneTurn(t *testing.T) {
	p := newPair(t, "proj/*")
	a, c := p.alder.join("proj/a"), p.alder.join("proj/c")
	b := p.birch.join("proj/b")
	const each = 20
	want := map[string][]string{}
	for i := range each {
		for _, from := range []*agent{a, c} {
			seq := from.chat("proj/b@birch", fmt.Sprint(i), asked).num("seq")
			want[from.name] = append(want[from.name], fmt.Sprintf("delivery-receipt:%d:immediate_delivered", seq))
		}
	}
	_ = c.ws.CloseNow()
	for slices.Contains(whoIs(a), any("proj/c")) {
	}
	p.carry(p.alder, p.birch)
	for range 2 * each {
		b.ackOne()
	}
	if out := p.birch.hub.LaneOut("alder"); out.Head == 0 || out.Head >= each { // a page may become some turns
		t.Errorf("the way back %+v", out)
	}
	p.bothWays()
	told := func(from *agent) (ids []string) {
		for range each {
			ids = append(ids, from.typed("delivery_receipt").str("receipt_notification_id"))
		}
		return ids
	}
	if got := told(a); !slices.Equal(got, want["proj/a"]) {
		t.Errorf("told %v, want %v", got, want["proj/a"])
	}
	back := p.alder.dial("proj/c")
	back.send(`{"sender":"proj/c","type":"heartbeat"}`)
	if got := told(back); !slices.Equal(got, want["proj/c"]) {
		t.Errorf("told later %v, want %v", got, want["proj/c"])
	}
}

func whoIs(a *agent) []any {
	a.send(fmt.Sprintf(`{"sender":%q,"type":"who_request"}`, a.name))
	return a.typed("who_snapshot")["online_agents"].([]any)
}

// A record of which one verdict cannot be true is refused, and settles nothing.
func TestOneBadVerdictAmongGoodOnes(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	p.birch.join("proj/b")
	a.chat("proj/b@birch", "x", asked)
	p.carry(p.alder, p.birch)
	rec := page(t, p.birch, "alder", Cursor{})[0]
	bad := rec.Verdicts[0]
	bad.LaneSeq = 99
	rec.Verdicts = append(slices.Clone(rec.Verdicts), bad)
	res := hand(t, p.alder, "birch", []InRecord{rec})
	if len(res.Refused) != 1 || res.Refused[0].Reason != wire.ReasonMalformedReceipt || res.Cursor.Seq != 1 {
		t.Errorf("result %+v", res)
	}
	if s, err := p.alder.hub.Status(t.Context()); err != nil || s.AwaitedReceipts != 1 {
		t.Errorf("%d receipts awaited, %v", s.AwaitedReceipts, err)
	}
}

// Many acknowledgements at once settle each receipt once, whatever they repeat.
func TestManyAcksAtOnce(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	const n = 50
	for i := range n {
		a.chat("proj/b@birch", fmt.Sprint(i), asked)
	}
	p.bothWays()
	b := p.birch.join("proj/b", `,"mailbox":true,"since_seq":0`)
	var seqs []uint64
	for range n {
		seqs = append(seqs, b.typed("chat").num("seq"))
	}
	for _, seq := range slices.Concat(seqs, seqs) {
		b.send(fmt.Sprintf(`{"sender":"proj/b","type":"ack","seq":%d}`, seq))
	}
	b.chat("proj/b", "the hub has the acknowledgements")
	p.bothWays()
	states := map[uint64][]journal.ReceiptState{}
	for _, v := range heard(t, p.alder) {
		states[v.About] = append(states[v.About], v.State)
	}
	for about, got := range states {
		if !slices.Equal(got, []journal.ReceiptState{journal.ReceiptPending, journal.ReceiptDeferred}) {
			t.Errorf("of record %d: %v", about, got)
		}
	}
	if len(states) != n {
		t.Errorf("verdicts on %d chats of %d", len(states), n)
	}
}

// Each receipt of one turn that finds no room pushes out another one, the oldest
// first, also when an operator's word has emptied the queue meanwhile.
func TestOldestOfATurn(t *testing.T) {
	v := &view{st: newState("birch")}
	l := v.st.lane("alder")
	for seq := range uint64(4) {
		l.awaitAck(&journal.ReceiptSettled{ChatSeq: seq + 1, State: journal.ReceiptPending})
	}
	for want := uint64(1); want < 4; want++ {
		p := v.oldestPending("alder")
		if p.chatSeq != want || v.pendingOf("alder") != 5-int(want) {
			t.Fatalf("chat %d of %d, want %d", p.chatSeq, v.pendingOf("alder"), want)
		}
		v.keep(&saying{peer: "alder", verdict: journal.ReceiptSettled{ChatSeq: want, State: journal.ReceiptExpired}})
		if !v.saidOf("alder", want) || v.saidOf("alder", want+1) {
			t.Errorf("after %d: ended %v", want, v.said["alder"].ended)
		}
	}
	l.pending.remove(4)
	l.awaitAck(&journal.ReceiptSettled{ChatSeq: 9, State: journal.ReceiptPending})
	for range 2 {
		v.keep(&saying{peer: "alder", verdict: journal.ReceiptSettled{ChatSeq: 10, State: journal.ReceiptPending}})
	}
	if p := v.oldestPending("alder"); p.chatSeq != 9 {
		t.Errorf("chat %d", p.chatSeq)
	}
}

// However a turn's verdicts are cut into records: all are in, in order, and every
// record is one that a peer can read and takes.
func TestTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seat := rapid.OneOf(
			rapid.Just("proj/b"), rapid.Just(strings.Repeat("x", wire.MaxNameBytes)), rapid.Just(strings.Repeat("\x01", wire.MaxNameBytes)),
		)
		s := &sayings{}
		for range rapid.IntRange(1, 700).Draw(t, "verdicts") {
			r := journal.ReceiptSettled{
				ChatSeq: 1<<53 - 1, MsgID: 1<<53 - 1, About: 1<<52 + rapid.Uint64Range(1, 2000).Draw(t, "about"), State: journal.ReceiptDelivered,
			}
			r.Recipients = []string{seat.Draw(t, "seat")}
			r.Wake = []journal.NameWake{{Name: r.Recipients[0], Wake: "persistent"}}
			s.list = append(s.list, r)
		}
		l := &lane{peer: "birch"}
		limit := wire.MaxVerdictsBytes
		if rapid.Bool().Draw(t, "agreed") {
			limit = 16 << 10
			l.facts.agreed.Number, l.facts.agreed.Profile.MaxBodyBytes = 1, uint64(limit)
		}
		total, last := len(s.list), uint64(0)
		for list := s.inOrder(); len(list) > 0; {
			n := l.together(list)
			body := verdictsBody(&journal.VerdictsSaid{Verdicts: list[:n]})
			if _, err := wire.ParseVerdicts(body); err != nil || len(body) > limit {
				t.Fatalf("%d verdicts, %d bytes: %v", n, len(body), err)
			}
			if list[0].About < last {
				t.Fatal("out of order")
			}
			last, total, list = list[n-1].About, total-n, list[n:]
		}
		if total != 0 {
			t.Fatalf("%d verdicts are missing", total)
		}
	})
}
