package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// whole is a node with a real hub and journal, on an in-memory file system and network.
type whole struct {
	t     *testing.T
	id    wire.HubID
	fs    *vfs.MemFS
	net   *transport.Network
	store *journal.Store
	hub   *hub.Hub
	relay *Relay
	stop  func()
}

func startWhole(t *testing.T, n *transport.Network, id wire.HubID, fs *vfs.MemFS) *whole {
	t.Helper()
	w := &whole{t: t, id: id, fs: fs, net: n}
	var err error
	if w.store, err = journal.Open("journal", journal.Options{FS: fs, HubID: string(id)}); err != nil {
		t.Fatal(err)
	}
	w.hub, err = hub.New(hub.Options{
		HubID: id, Store: w.store, Now: time.Now, Rand: rand.Reader, OnFatal: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	m := n.Join(transport.MemoryOptions{Hub: id, Pin: pinFor(id), Addr: address(id), Trust: func() certs.Trust { return w.hub.Trust() }})
	w.relay = New(Options{Core: w.hub, Transport: m})
	w.hub.SetForwarder(w.relay)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- w.relay.Run(ctx) }()
	w.stop = func() {
		cancel()
		late, done := context.WithTimeout(context.Background(), 20*time.Second)
		defer done()
		if err := errors.Join(<-over, m.Close(), w.hub.Close(late), w.store.Close()); err != nil {
			t.Error(err)
		}
	}
	return w
}

func address(id wire.HubID) string { return string(id) + ":1" }

// approve makes another node a peer.
func (w *whole) approve(peer wire.HubID, endpoints ...string) {
	w.t.Helper()
	all, err := wire.ParsePattern("demo/*")
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = w.hub.Approve(w.t.Context(), hub.Approval{Peer: federation.Peer{
		Hub: peer, Endpoints: endpoints, Pins: []federation.Pin{federation.Pin(pinFor(peer))}, MayReach: []wire.Pattern{all}, By: "test",
	}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// backup is the node's folder as it is now; the node must be stopped.
func (w *whole) backup() *vfs.MemFS {
	return w.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: mathrand.New(mathrand.NewPCG(1, 2))})
}

func (w *whole) say(to wire.HubID, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		_, err := w.hub.Send(w.t.Context(), hub.SendRequest{As: "demo/a", To: "demo/b@" + string(to), Text: text, Principal: "admin:test"})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// heard lists, in order, what came from other hubs.
func (w *whole) heard() (texts []string) {
	w.t.Helper()
	head, _ := w.store.Head()
	for seq := uint64(1); seq <= head; seq++ {
		ev, _, err := w.store.Event(seq)
		if err != nil {
			w.t.Fatal(err)
		}
		if ev.Kind != journal.KindChatAccepted {
			continue
		}
		rec, err := ev.Record()
		if err != nil {
			w.t.Fatal(err)
		}
		if rec.(journal.ChatAccepted).Origin == nil {
			continue
		}
		body, _, err := w.store.Body(seq)
		if err != nil {
			w.t.Fatal(err)
		}
		texts = append(texts, string(body))
	}
	return texts
}

// adopted is the one event of its kind.
func (w *whole) adopted() (found []journal.LaneAdopted) {
	head, _ := w.store.Head()
	for seq := uint64(1); seq <= head; seq++ {
		if ev, _, err := w.store.Event(seq); err == nil && ev.Kind == journal.KindLaneAdopted {
			rec, err := ev.Record()
			if err != nil {
				w.t.Fatal(err)
			}
			r := rec.(journal.LaneAdopted)
			found = append(found, journal.LaneAdopted{Seq: r.Seq, LostFrom: r.LostFrom, LostTo: r.LostTo, HeldFrom: r.HeldFrom, HeldTo: r.HeldTo})
		}
	}
	return found
}

func (w *whole) link() LinkStatus { return w.relay.Links()[0] }

func (w *whole) reconcile(peer wire.HubID) hub.Reconciliation {
	w.t.Helper()
	done, err := w.hub.Reconcile(w.t.Context(), peer, "Ann", "root", false)
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

// through says that everything of both lanes is across and acknowledged.
func through(a, b *whole) bool {
	for _, d := range [][2]*whole{{a, b}, {b, a}} {
		o := d[0].hub.LaneOut(d[1].id)
		if o.Acked != o.Head || d[1].hub.LaneIn(d[0].id).Seq != o.Head {
			return false
		}
	}
	return true
}

func bodies(texts ...string) (list []string) {
	for _, text := range texts {
		list = append(list, fmt.Sprintf(`{"payload":%q}`, text))
	}
	return list
}

// peers starts two nodes, of which only beta reaches the other if oneWay, lets them talk, and returns a backup of
// alpha from between the two talks.
func peers(t *testing.T, oneWay bool) (n *transport.Network, a, b *whole, old *vfs.MemFS) {
	t.Helper()
	n = transport.NewNetwork()
	a, b = startWhole(t, n, alpha, vfs.NewCrashableMem()), startWhole(t, n, beta, vfs.NewCrashableMem())
	if oneWay {
		a.approve(beta, "nowhere.example:1")
	} else {
		a.approve(beta, address(beta))
	}
	b.approve(alpha, address(alpha))
	a.say(beta, "a1", "a2")
	b.say(alpha, "b1")
	reach(t, "the first talk", func() bool { return through(a, b) })
	a.stop()
	old = a.backup()
	a = startWhole(t, n, alpha, a.fs)
	a.say(beta, "a3", "a4", "a5")
	b.say(alpha, "b2", "b3")
	reach(t, "the second talk", func() bool { return through(a, b) })
	return n, a, b, old
}

func reach(t *testing.T, what string, cond func() bool) {
	t.Helper()
	if !await(10*time.Minute, cond) {
		t.Fatalf("never: %s", what)
	}
}

// A backup restored under a running peer is fenced as rewound, whoever calls; when both operators have said so both lanes
// flow again, each message once, and what either side has lost is named.
func TestReconcileAfterARestore(t *testing.T) {
	for name, oneWay := range map[string]bool{"both call": false, "one calls": true} {
		synctest.Test(t, func(t *testing.T) {
			t.Log(name)
			n, a, b, old := peers(t, oneWay)
			a.stop()
			a = startWhole(t, n, alpha, old)
			defer func() { a.stop(); b.stop() }()
			fenced := func(w *whole) func() bool {
				return func() bool { l := w.link(); return l.LastReason == wire.ReasonRewound && l.State != Up }
			}
			reach(t, "fenced there", fenced(b))
			reach(t, "fenced here", fenced(a))
			a.say(beta, "a6", "a7", "a8", "a9")
			b.say(alpha, "b4")

			plan, err := a.hub.Reconcile(t.Context(), beta, "Ann", "root", true)
			if want := (hub.Reconciliation{Peer: beta, Epoch: 2, Base: 2, Again: 4, Held: 1}); err != nil || plan != want {
				t.Errorf("dry run: %+v, %v, want %+v", plan, err, want)
			}
			if a.hub.Reconciling(beta) {
				t.Error("a dry run did something")
			}
			if done := a.reconcile(beta); done != plan {
				t.Errorf("%+v, planned %+v", done, plan)
			}
			if again := a.reconcile(beta); !again.Waits || again.Epoch != 2 {
				t.Errorf("once more: %+v", again)
			}
			if await(10*time.Minute, func() bool { return a.link().State == Up || b.link().State == Up }) {
				t.Error("linked on the word of one side")
			}
			b.reconcile(alpha)
			reach(t, "both lanes through", func() bool { return through(a, b) })
			a.say(beta, "a10")
			b.say(alpha, "b5")
			reach(t, "later ones through", func() bool { return through(a, b) })

			if diff := cmp.Diff(bodies("a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10"), b.heard()); diff != "" {
				t.Errorf("beta heard (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(bodies("b1", "b4", "b5"), a.heard()); diff != "" {
				t.Errorf("alpha heard (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]journal.LaneAdopted{{Seq: 3, LostFrom: 2, LostTo: 3}}, a.adopted()); diff != "" {
				t.Errorf("alpha's gap (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]journal.LaneAdopted{{Seq: 2, HeldFrom: 3, HeldTo: 5}}, b.adopted()); diff != "" {
				t.Errorf("beta's gap (-want +got):\n%s", diff)
			}
			a.stop()
			a = startWhole(t, n, alpha, a.fs)
			a.say(beta, "a11")
			reach(t, "through after a restart", func() bool { return through(a, b) })
		})
	}
}

// A copy that runs beside the original is fenced as cloned and does not disturb the link of the original; when the
// original is gone and both operators say so, the copy takes its place.
func TestReconcileACopy(t *testing.T) { synctest.Test(t, reconcileACopy) }

func reconcileACopy(t *testing.T) {
	n, a, b, old := peers(t, true)
	a.stop()
	a = startWhole(t, n, alpha, old)
	defer func() { a.stop(); b.stop() }()
	a.say(beta, "c3", "c4", "c5", "c6") // other records under numbers that beta holds
	cloned := func(w *whole) func() bool {
		return func() bool {
			l := w.link()
			return (l.LastReason == wire.ReasonCloned || l.LastReason == wire.ReasonRewound) && l.State != Up
		}
	}
	reach(t, "fenced", cloned(b))
	a.reconcile(beta)
	b.reconcile(alpha)
	reach(t, "through", func() bool { return through(a, b) })
	if got := b.heard(); !slices.Equal(got[len(got)-4:], bodies("c3", "c4", "c5", "c6")) {
		t.Errorf("beta heard %q", got)
	}
}

// A healthy link that an operator reconciles on one side only ends, and comes back when the other side follows.
func TestReconcileAHealthyLink(t *testing.T) { synctest.Test(t, reconcileAHealthyLink) }

func reconcileAHealthyLink(t *testing.T) {
	_, a, b, _ := peers(t, false)
	defer func() { a.stop(); b.stop() }()
	b.reconcile(alpha)
	reach(t, "the link ends", func() bool { return b.link().State != Up })
	b.say(alpha, "b4")
	a.reconcile(beta)
	reach(t, "through", func() bool { return through(a, b) })
	if diff := cmp.Diff(bodies("b1", "b2", "b3", "b4"), a.heard()); diff != "" {
		t.Errorf("alpha heard (-want +got):\n%s", diff)
	}
	if _, err := a.hub.Reconcile(t.Context(), "nobody.example", "Ann", "root", false); err == nil {
		t.Error("reconciled with nobody")
	}
}
