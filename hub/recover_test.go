package hub

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
	"fleetrelay/testenv/crashfs"
)

// randomWork drives every kind of local event: chats of all addressing forms,
// receipts, acknowledgements, tokens.
func randomWork(r *rig, rng *rand.Rand, steps int) {
	names := []string{"proj/a", "proj/b", "proj/c", "other/d"}
	agents := map[string]*agent{}
	for _, n := range names[:3] {
		agents[n] = r.join(n)
	}
	targets := append([]string{"all", "proj", "proj/*", "proj/?", "proj/[ab]", "nobody/x", "proj/a,proj/b", "other/d"}, names...)
	var last uint64
	for i := range steps {
		randomTrust(r, rng)
		a := agents[names[rng.IntN(3)]]
		if last > 0 && rng.IntN(4) == 0 {
			a.send(fmt.Sprintf(`{"sender":%q,"type":"ack","seq":%d}`, a.name, last))
			continue
		}
		extra := ""
		if rng.IntN(2) == 0 {
			extra = `,"receipt_requested":true`
		}
		g := a.chat(targets[rng.IntN(len(targets))], fmt.Sprintf("text %d", i), extra)
		last = g.num("seq")
	}
}

// randomTrust does something about a few hubs, which may be refused.
func randomTrust(r *rig, rng *rand.Rand) {
	ctx, hub := r.t.Context(), fmt.Sprintf("far-%d", rng.IntN(6))
	inv, _, err := r.hub.Invite(ctx, InviteRequest{By: "Ann", Endpoints: []string{"h.example:1"}})
	if err != nil {
		return
	}
	switch rng.IntN(6) {
	case 0:
		inv.Hub, inv.Pin = wire.HubID(hub), pinOf(hub)
		_, _ = r.hub.Join(ctx, inv, "root")
	case 1, 2:
		r.hub.Knock(federation.Knock{Hub: wire.HubID(hub), Pin: pinOf(hub), Host: "192.0.2.1", Invite: inv.Hash()})
	case 3:
		a := granted(r.t, hub)
		a.Replace = rng.IntN(2) == 0
		_, _ = r.hub.Approve(ctx, a)
	case 4:
		_, _ = r.hub.Reject(ctx, Rejection{Pin: pinOf(hub), By: "Ann", User: "root"})
	case 5:
		_, _, _ = r.hub.Revoke(ctx, Revocation{Hub: wire.HubID(hub), By: "Ann", User: "root", Why: "why"})
	}
}

// snapshotNow journals the hot state.
func snapshotNow(t *testing.T, r *rig) {
	t.Helper()
	if err := r.hub.operate(t.Context(), func(v *view, d *draft) error {
		state := v.st.encode()
		d.addBody(v.now, journal.SnapshotTaken{UpTo: v.st.head}, state, digestOf(state))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// The state after a restart is the state before: through a snapshot and without
// one, byte for byte.
func TestStateIsAFunctionOfTheJournal(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	fs := vfs.NewMem()
	r := startRig(t, fs)
	randomWork(r, rand.New(rand.NewPCG(seed, 0)), 150)
	var live []byte
	snapshotNow(t, r)
	late := r.dial("late/one")
	late.send(`{"sender":"late/one","type":"heartbeat"}`)
	late.typed("presence_update")
	late.chat("proj/a", "after the snapshot", `,"receipt_requested":true`)
	if err := r.hub.operate(t.Context(), func(v *view, _ *draft) error { live = v.st.encode(); return nil }); err != nil {
		t.Fatal(err)
	}
	r.stop()

	store, err := journal.Open("journal", journal.Options{FS: fs, HubID: "hub-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	short, err := recoverState(store, "hub-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	long := newState("hub-1")
	if err := store.Replay(0, func(ev journal.Event) error {
		rec, err := ev.Record()
		if err == nil {
			long.apply(&ev, rec.(journal.Record), noTables{})
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// Notifications that sockets took after the last look are events too.
	short.head, long.head = 0, 0
	if !bytes.Equal(short.encode(), long.encode()) {
		t.Error("a start from the snapshot differs from a full replay")
	}
	before, err := decodeState("hub-1", live)
	if err != nil {
		t.Fatal(err)
	}
	before.head = 0
	if !bytes.Equal(before.encode(), long.encode()) {
		t.Error("a full replay differs from the live state")
	}
}

// The power is cut before every write of a mixed workload: whatever an agent had
// been told by then is there again, in order, and the hub starts.
func TestPowerCutKeepsWhatWasTold(t *testing.T) {
	var mu sync.Mutex
	told := []string{}
	c := crashfs.New(vfs.NewCrashableMem(), rand.New(rand.NewPCG(rand.Uint64(), 0)), func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(told)
	})
	r := startRig(t, c.FS())
	a, other := r.join("proj/a"), r.join("proj/c")
	for i := range 60 {
		text := fmt.Sprintf("text %d", i)
		g := a.chat("proj/b", text, `,"receipt_requested":true`)
		mu.Lock()
		told = append(told, text)
		mu.Unlock()
		other.chat([]string{"all", "proj/?", "proj/c"}[i%3], text)
		other.send(fmt.Sprintf(`{"sender":"proj/c","type":"ack","seq":%d}`, g.num("seq")))
	}
	r.stop()
	cuts := c.Cuts()
	t.Logf("%d power cuts", len(cuts))
	for i := 0; i < len(cuts); i += 1 + len(cuts)/150 { // a start costs some milliseconds
		if lost := lostAfter(t, cuts[i], told); lost != "" {
			t.Fatalf("cut %d (%s): %s", i, cuts[i].Op, lost)
		}
	}
}

// lostAfter starts a hub on what a cut left and says what of the told chats to
// proj/b is missing.
func lostAfter(t *testing.T, cut crashfs.Cut, told []string) string {
	t.Helper()
	r := startRig(t, cut.FS)
	defer r.stop()
	b := r.join("proj/b", `,"mailbox":true,"since_seq":0`)
	b.send(`{"sender":"proj/b","type":"who_request"}`)
	held := []string{}
	for {
		g, err := b.read()
		if err != nil {
			return err.Error()
		}
		if g.str("type") == "who_snapshot" {
			break
		}
		if g.str("type") == "chat" && g.str("sender") == "proj/a" && g.str("target") == "proj/b" {
			held = append(held, g.str("payload"))
		}
	}
	if len(held) < cut.Mark || !slices.Equal(held[:cut.Mark], told[:cut.Mark]) {
		return fmt.Sprintf("%d told, held %v", cut.Mark, held)
	}
	return ""
}

// The same check finds a hub that tells before its sync.
func TestPowerCutCheckFindsEarlyEffect(t *testing.T) {
	mem := vfs.NewCrashableMem()
	r := startRig(t, mem, func(o *Options) { o.Fault = faultEarly })
	a := r.join("proj/a")
	a.chat("proj/b", "told too early")
	cut := crashfs.Cut{FS: mem.CrashClone(vfs.CrashCloneCfg{}), Mark: 1}
	r.stop()
	if lostAfter(t, cut, []string{"told too early"}) == "" {
		t.Fatal("the planted fault left no trace")
	}
}

// A failed write or sync ends the node before any effect of that turn was told.
func TestFailedSyncTellsNothing(t *testing.T) {
	base := vfs.NewMem()
	var broken atomic.Bool
	fs := errorfs.Wrap(base, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	r := startRig(t, fs)
	a := r.join("proj/a")
	a.chat("proj/b", "before")
	broken.Store(true)
	a.send(`{"sender":"proj/a","type":"chat","target":"proj/b","payload":"lost"}`)
	err := <-r.fatal
	r.broken = true
	var je *journal.Error
	if !errors.As(err, &je) || je.Reason != wire.ReasonJournalFailed {
		t.Fatalf("fatal error %v", err)
	}
	a.send(`{"sender":"proj/a","type":"who_request"}`)
	broken.Store(false)
	go func() { _ = a.ws.CloseNow() }()
	for {
		g, err := a.read()
		if err != nil {
			break
		}
		if g.str("type") == "chat" || g.str("type") == "who_snapshot" {
			t.Fatalf("told after the failure: %v", g)
		}
	}
}
