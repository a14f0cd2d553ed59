package hub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"fleetrelay/hub/wire"
)

// refusedChat sends a chat that is expected to be refused and returns the word.
func (a *agent) refusedChat(to, text string) string {
	a.t.Helper()
	a.send(fmt.Sprintf(`{"sender":%q,"type":"chat","target":%q,"payload":%q,"client_msg_id":"full"}`, a.name, to, text))
	return a.until(func(g got) bool { return g.str("client_msg_id") == "full" }).str("error_code")
}

func queueOf(t *testing.T, r *rig, peer wire.HubID) QueueInfo {
	t.Helper()
	q, err := r.hub.Queue(peer)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// The outbox takes records up to its bound, refuses the next one without storing
// anything, and takes again once the peer is back.
func TestOutboxFullByCount(t *testing.T) {
	p := newPair(t, "proj/*", func(o *Options) { o.Limits.PeerRecords = 3 })
	a := p.alder.join("proj/a")
	for i := range 3 {
		a.chat("proj/b@birch", fmt.Sprint("text ", i))
	}
	head, _ := p.alder.store.Head()
	if why := a.refusedChat("proj/b@birch", "one more"); why != "outbox_full" {
		t.Fatalf("the fourth: %q", why)
	}
	if again, _ := p.alder.store.Head(); again != head {
		t.Error("a refused chat was journalled")
	}
	if q := queueOf(t, p.alder, "birch"); q.Records != 3 || q.Head != 3 || q.OldestUS == 0 || q.MaxRecords != 3 {
		t.Errorf("queue %+v", q)
	}
	a.chat("proj/c", "local ones go on")
	p.carry(p.alder, p.birch)
	if q := queueOf(t, p.alder, "birch"); q.Records != 0 || q.Bytes != 0 || q.OldestUS != 0 {
		t.Errorf("drained queue %+v", q)
	}
	a.chat("proj/b@birch", "and again")
}

// A queue filled to one byte below its bound, to it and above: it drains to zero
// and accepts again.
func TestOutboxFullByBytes(t *testing.T) {
	const body = len(`{"payload":""}`)
	for _, over := range []int{-1, 0, 1} {
		p := newPair(t, "proj/*", func(o *Options) { o.Limits.PeerBytes = 1000 })
		a := p.alder.join("proj/a")
		a.chat("proj/b@birch", strings.Repeat("x", 500-body))
		second := strings.Repeat("y", 500+over-body)
		if over > 0 {
			if why := a.refusedChat("proj/b@birch", second); why != "outbox_full" {
				t.Errorf("%+d: %q", over, why)
			}
		} else {
			a.chat("proj/b@birch", second)
		}
		p.carry(p.alder, p.birch)
		if q := queueOf(t, p.alder, "birch"); q.Records != 0 || q.Bytes != 0 {
			t.Errorf("%+d: drained queue %+v", over, q)
		}
		a.chat("proj/b@birch", strings.Repeat("z", 2000)) // alone it always fits
		p.alder.stop()
		p.birch.stop()
	}
}

// What waits is the same after a restart, from a snapshot and without one, and
// each record is shown with what it is.
func TestQueueSurvives(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		fs := vfs.NewMem()
		r := startRig(t, fs, func(o *Options) { o.HubID = "alder" })
		approve(t, r, "birch", "proj/*")
		a := r.join("proj/a")
		for i := range 5 {
			a.chat("proj/b@birch", strings.Repeat("x", i))
		}
		if err := r.hub.Acked(t.Context(), "birch", 2, nil); err != nil {
			t.Fatal(err)
		}
		if snapshot {
			snapshotNow(t, r)
		}
		before := queueOf(t, r, "birch")
		r.stop()
		r = startRig(t, fs, func(o *Options) { o.HubID = "alder" })
		if after := queueOf(t, r, "birch"); after != before || after.Records != 3 {
			t.Errorf("queue %+v, was %+v", after, before)
		}
		recs, err := r.hub.QueueRecords("birch", 0, 2)
		if err != nil || len(recs) != 2 || recs[0].LaneSeq != 3 || recs[1].LaneSeq != 4 {
			t.Fatalf("records %+v, %v", recs, err)
		}
		if q := recs[1]; q.Sender != "proj/a" || q.Target != "proj/b@birch" || q.Kind != "chat" || q.State != "relay_pending" ||
			q.Bytes != uint64(len(`{"payload":"xxx"}`)) {
			t.Errorf("record %+v", q)
		}
		all, err := r.hub.Queues()
		if err != nil || len(all) != 1 || all[0] != before {
			t.Errorf("queues %+v, %v", all, err)
		}
		r.stop()
	}
}

// Whatever is accepted, withdrawn and acknowledged, what waits is counted as a naive
// twin counts it, or, between two withdrawn ones, somewhat above.
func TestWaitingBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := newState("alder")
		rows := rowTables{}
		sizes, total := []uint64{0}, []uint64{0}
		head, acked, aged := uint64(0), uint64(0), uint64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			step := rapid.IntRange(0, 3).Draw(t, "step")
			switch {
			case step == 0 && acked < head:
				acked = rapid.Uint64Range(acked+1, head).Draw(t, "ack")
				rows.ack(st, acked)
			case step == 1 && max(acked, aged) < head:
				aged = rapid.Uint64Range(max(acked, aged)+1, head).Draw(t, "withdrawn")
				rows.withdraw(st, aged, sizes[aged])
				sizes[aged] = 0
			default:
				head++
				size := rapid.Uint64Range(2, 50).Draw(t, "size")
				sizes, total = append(sizes, size), append(total, size)
				rows.chat(st, head, size)
			}
			least, most := uint64(0), uint64(0)
			for seq := acked + 1; seq <= head; seq++ {
				least, most = least+sizes[seq], most+total[seq]
			}
			got := st.lanes["birch"].waiting()
			if got < least || got > most || (acked >= aged && got != least) {
				t.Fatalf("%d bytes wait in (%d, %d], of %d, withdrawn up to %d", got, acked, head, least, aged)
			}
		}
	})
}
