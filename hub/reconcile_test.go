package hub

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// reconcile begins anew what two hubs have of one another, as their relays do after both operators' word.
func (p *pair) reconcile() {
	p.t.Helper()
	for _, d := range [][2]*rig{{p.alder, p.birch}, {p.birch, p.alder}} {
		if _, err := d[0].hub.Reconcile(p.t.Context(), d[1].hub.Self(), "Ann", "root", false); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, d := range [][2]*rig{{p.alder, p.birch}, {p.birch, p.alder}} {
		if err := d[0].hub.AdoptLane(p.t.Context(), d[1].hub.Self(), d[1].hub.LaneEpoch(d[0].hub.Self())); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, d := range [][2]*rig{{p.alder, p.birch}, {p.birch, p.alder}} {
		self, peer := d[0].hub.Self(), d[1].hub.Self()
		if err := d[0].hub.LaneTaken(p.t.Context(), peer, d[1].hub.LaneIn(self), d[1].hub.LaneOut(self).Head); err != nil {
			p.t.Fatal(err)
		}
	}
}

func records[R any](t *testing.T, r *rig, kind journal.Kind) (list []R) {
	t.Helper()
	head, _ := r.store.Head()
	for seq := uint64(1); seq <= head; seq++ {
		ev, _, err := r.store.Event(seq)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind != kind {
			continue
		}
		rec, err := ev.Record()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rec.(R))
	}
	return list
}

// What a peer said of a record before both lanes began anew is not taken for what it says of the record that has the number
// since, and what it says later is.
func TestOldVerdictsAreNotTakenForNewRecords(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	first := a.chat("proj/b@birch", "one", asked)
	// It arrives, and the acknowledgement is lost; the verdict on it waits at birch.
	if res := hand(t, p.birch, "alder", page(t, p.alder, "birch", Cursor{})); res.Err != nil {
		t.Fatal(res.Err)
	}
	p.reconcile()
	if l := p.birch.hub.LaneIn("alder"); l != (Cursor{}) {
		t.Fatalf("birch holds %+v", l)
	}
	p.bothWays() // the record again, the old verdict, the new one
	p.bothWays()
	got := heard(t, p.alder)
	if len(got) != 2 || got[0].About != 1 || got[0].ChatSeq != 0 || got[1].About != 1 || got[1].ChatSeq != first.num("seq") {
		t.Fatalf("verdicts %+v", got)
	}
	// The receipt of the old record is not settled any more; that of the new one is, once.
	b := p.birch.join("proj/b", `,"mailbox":true,"since_seq":0`)
	for range 2 {
		b.ackOne()
	}
	b.chat("proj/b", "the acknowledgements are taken")
	p.bothWays()
	got = heard(t, p.alder)
	if len(got) != 3 || got[2].State != journal.ReceiptDeferred || got[2].ChatSeq != first.num("seq") {
		t.Fatalf("verdicts %+v", got)
	}
}

// heard are all verdicts of other hubs in a journal.
func heard(t *testing.T, r *rig) (out []journal.FarVerdict) {
	for _, rec := range records[journal.VerdictsHeard](t, r, journal.KindVerdictsHeard) {
		out = append(out, rec.Verdicts...)
	}
	return out
}

// ackOne takes the next chat of the mailbox.
func (a *agent) ackOne() {
	a.t.Helper()
	g := a.until(func(g got) bool { return g.str("type") == "chat" })
	a.send(fmt.Sprintf(`{"sender":%q,"type":"ack","seq":%d}`, a.name, g.num("seq")))
}

// The words of operators are kept over a restart, with and without a snapshot between, and records that wait are counted in
// the new epoch, from the journal as from memory.
func TestReconciledLaneOutlivesTheProcess(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		fs := vfs.NewMem()
		r := startRig(t, fs)
		approve(t, r, "birch", "proj/*")
		a := r.join("proj/a")
		a.chat("proj/b@birch", "one")
		a.chat("proj/b@birch", "two")
		if err := r.hub.Acked(t.Context(), "birch", 1, nil); err != nil {
			t.Fatal(err)
		}
		before := r.hub.LaneEpoch("birch")
		done, err := r.hub.Reconcile(t.Context(), "birch", "Ann", "root", false)
		if err != nil || done.Epoch != 2 || done.Base != 1 || done.Again != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		if snapshot {
			snapshotNow(t, r)
		}
		for range 2 {
			e := r.hub.LaneEpoch("birch")
			hash, _ := r.hub.LaneHash("birch", 1)
			if e.Number != 2 || e.ID == before.ID || e.Base != 1 || e.BaseHash != hash || !r.hub.Reconciling("birch") {
				t.Errorf("%+v", e)
			}
			recs, err := r.hub.Outbox("birch", 1, 10, 1<<20)
			if err != nil || len(recs) != 1 || recs[0].Seq != 2 || recs[0].Origin.EpochID != e.ID || recs[0].Origin.Epoch != 2 {
				t.Errorf("%+v, %v", recs, err)
			}
			r.stop()
			r = startRig(t, fs)
		}
		if e := r.hub.LaneEpoch("cedar"); e.Epoch != before.Epoch {
			t.Errorf("another lane: %+v", e)
		}
	}
}

// Nobody's lane is taken up without an operator's word, nor twice on one word.
func TestAdoptingNeedsAWord(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	approve(t, r, "birch", "proj/*")
	e := LaneEpoch{Epoch: Epoch{Number: 2, ID: [16]byte{7}}, Base: 5, BaseHash: [32]byte{8}}
	wantReason(t, r.hub.AdoptLane(t.Context(), "birch", e), wire.ReasonRewound)
	if _, err := r.hub.Reconcile(t.Context(), "birch", "Ann", "root", false); err != nil {
		t.Fatal(err)
	}
	if err := r.hub.AdoptLane(t.Context(), "birch", e); err != nil {
		t.Fatal(err)
	}
	if in := r.hub.LaneIn("birch"); in != (Cursor{EpochID: e.ID, Seq: 5, Hash: e.BaseHash}) {
		t.Errorf("%+v", in)
	}
	e.Base = 9
	wantReason(t, r.hub.AdoptLane(t.Context(), "birch", e), wire.ReasonRewound)
}

// An acknowledgement of the epoch before may come in after the operator's word: it moves nothing, or this side would hold
// more for acknowledged than where its new epoch begins, and its peer for rolled back.
func TestAcksOfTheEpochBefore(t *testing.T) {
	p := newPair(t, "proj/*")
	a := p.alder.join("proj/a")
	for i := range 3 {
		a.chat("proj/b@birch", fmt.Sprint(i))
	}
	res := hand(t, p.birch, "alder", page(t, p.alder, "birch", Cursor{}))
	if _, err := p.alder.hub.Reconcile(t.Context(), "birch", "Ann", "root", false); err != nil {
		t.Fatal(err)
	}
	if err := p.alder.hub.Acked(t.Context(), "birch", res.Cursor.Seq, nil); err != nil {
		t.Fatal(err)
	}
	if out, e := p.alder.hub.LaneOut("birch"), p.alder.hub.LaneEpoch("birch"); out.Acked != e.Base || out.Acked != 0 {
		t.Fatalf("acknowledged %d, and the epoch begins after %d", out.Acked, e.Base)
	}
}
