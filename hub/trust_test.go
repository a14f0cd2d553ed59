package hub

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// The whole ceremony: each side sees the other pending, approves the key alone,
// and keeps what the call and the invitation said.
func TestCeremony(t *testing.T) {
	alder, birch := newSide(t, "alder"), newSide(t, "birch")
	told := &news{}
	birch.hub.SetForwarder(told)
	inv, id := alder.invite(t)
	if inv.Hub != "alder" || !slices.Equal(inv.Endpoints, alder.endpoints()) || inv.Pin != alder.pin() || len(id) != 8 {
		t.Errorf("invitation %+v %s", inv, id)
	}
	row, err := birch.hub.Join(t.Context(), inv, "root")
	if err != nil || !row.Joined || row.Invited || row.ExpiresUS != inv.ExpiresUS || !bytes.Equal(row.Invite, inv.Secret[:]) {
		t.Fatalf("%+v, %v", row, err)
	}
	if got := birch.hub.Joined(); len(got) != 1 || got[0].Pin != alder.pin() || told.changed.Load() != 1 {
		t.Errorf("joined %+v, told %d times", got, told.changed.Load())
	}
	head := birch.settle(t).Head
	if again, err := birch.hub.Join(t.Context(), inv, "root"); err != nil || again.Pin != row.Pin || birch.settle(t).Head != head {
		t.Errorf("the same token again: %+v, %v", again, err)
	}
	alder.knock(t, "birch", inv.Hash())
	alder.knock(t, "birch", inv.Hash())
	called := alder.row(t, "birch")
	if called.Hub != "birch" || !called.Invited || called.Joined || called.InviteID != id || called.Invite != nil || called.Times != 2 || called.Host != "192.0.2.1" {
		t.Errorf("%+v", called)
	}
	if p := birch.approve(t, "alder"); p.Hub != "alder" || !slices.Equal(p.Endpoints, alder.endpoints()) || !bytes.Equal(p.Invite, inv.Secret[:]) {
		t.Errorf("%+v", p)
	}
	if p := alder.approve(t, "birch"); p.Hub != "birch" || !slices.Equal(p.Endpoints, []string{"birch.example:1"}) || p.Invite != nil || p.AddedUS == 0 {
		t.Errorf("%+v", p)
	}
	for _, s := range []*side{alder, birch} {
		if len(s.hub.Pending()) != 0 || s.hub.Trust().Len() != 1 {
			t.Errorf("%s: pending %+v, %d peers", s.id, s.hub.Pending(), s.hub.Trust().Len())
		}
	}
	if told.changed.Load() != 2 {
		t.Errorf("the relay was told %d times", told.changed.Load())
	}
}

// Both took an invitation of the other: one row, which is still called.
func TestBothInvited(t *testing.T) {
	for _, calledFirst := range []bool{false, true} {
		alder, birch := newSide(t, "alder"), newSide(t, "birch")
		of, _ := alder.invite(t)
		back, _ := birch.invite(t)
		join := func() {
			if _, err := alder.hub.Join(t.Context(), back, "root"); err != nil {
				t.Fatal(err)
			}
		}
		if !calledFirst {
			join()
		}
		alder.knock(t, "birch", of.Hash())
		if calledFirst {
			join()
		}
		if row := alder.row(t, "birch"); !row.Joined || !row.Invited || !slices.Equal(row.Endpoints, birch.endpoints()) || len(alder.hub.Pending()) != 1 {
			t.Errorf("called first %v: %+v", calledFirst, row)
		}
		alder.restart(t, calledFirst)
		if row := alder.row(t, "birch"); !row.Joined || !row.Invited || !bytes.Equal(row.Invite, back.Secret[:]) {
			t.Errorf("called first %v, started again: %+v", calledFirst, row)
		}
	}
}

// What cannot be joined, with its reason.
func TestJoinRefuses(t *testing.T) {
	alder := newSide(t, "alder")
	approve(t, alder.rig, "oak", "proj/*")
	good := func(hub string) federation.Invitation {
		return federation.Invitation{
			Hub: wire.HubID(hub), Pin: pinOf(hub), Endpoints: []string{"h.example:1"}, Secret: [16]byte{1}, ExpiresUS: time.Now().Add(time.Hour).UnixMicro(),
		}
	}
	join := func(hub string, change func(*federation.Invitation)) error {
		inv := good(hub)
		change(&inv)
		_, err := alder.hub.Join(t.Context(), inv, "root")
		return err
	}
	asIs := func(*federation.Invitation) {}
	for _, hub := range []string{"birch", "fir"} {
		refusedWith(t, join(hub, asIs), "")
	}
	if _, err := alder.hub.Reject(t.Context(), Rejection{Pin: pinOf("fir"), By: "Ann", User: "root"}); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, join("fir", asIs), wire.ReasonPeerRejected)
	refusedWith(t, join("alder", asIs), wire.ReasonOwnHubID)
	refusedWith(t, join("oak", asIs), wire.ReasonHubIDTaken)
	refusedWith(t, join("OAK", asIs), wire.ReasonHubIDTaken)
	refusedWith(t, join("elm", func(i *federation.Invitation) { i.Pin = pinOf("oak") }), wire.ReasonPinTaken)
	refusedWith(t, join("birch", func(i *federation.Invitation) { i.Pin = pinOf("other") }), wire.ReasonHubIDTaken)
	refusedWith(t, join("elm", func(i *federation.Invitation) { i.Endpoints = []string{"nowhere"} }), wire.ReasonInvalidAddress)
	refusedWith(t, join("elm", func(i *federation.Invitation) { i.ExpiresUS = 1 }), wire.ReasonInviteExpired)
	refusedWith(t, join("birch", func(i *federation.Invitation) { i.Secret[0]++ }), "") // a later invitation of the same key
	if row := alder.row(t, "birch"); row.Invite[0] != 2 {
		t.Errorf("the later invitation was not taken: %+v", row)
	}
}

// A key is approved by what called, by what is given, or by what was known.
func TestApprove(t *testing.T) {
	alder := newSide(t, "alder")
	approval := func(hub string, change func(*Approval)) error {
		a := granted(t, hub)
		change(&a)
		_, err := alder.hub.Approve(t.Context(), a)
		return err
	}
	asIs := func(*Approval) {}
	refusedWith(t, approval("oak", asIs), wire.ReasonNoSuchPending)
	refusedWith(t, approval("oak", func(a *Approval) { a.Hub = "oak" }), "") // it calls, and is never dialled
	refusedWith(t, approval("oak", func(a *Approval) { a.Hub, a.Endpoints, a.Replace = "oak", []string{"oak.example:1"}, true }), "")
	alder.knock(t, "birch", [32]byte{})
	refusedWith(t, approval("birch", func(a *Approval) { a.Hub = "elm" }), wire.ReasonWrongHubID)
	refusedWith(t, approval("birch", func(a *Approval) { a.MayReach = nil }), wire.ReasonPatternsMissing)
	refusedWith(t, approval("birch", func(a *Approval) { a.Pins = nil; a.Hub = "birch" }), wire.ReasonPinsMissing)
	if len(alder.hub.Pending()) != 1 {
		t.Errorf("a refused approval took the row: %+v", alder.hub.Pending())
	}
	refusedWith(t, approval("birch", asIs), "")
	refusedWith(t, approval("birch", asIs), wire.ReasonHubIDTaken)
	refusedWith(t, approval("birch", func(a *Approval) { a.Replace = true }), "")
	if p, _ := alder.hub.Trust().Peer("birch"); !slices.Equal(p.Endpoints, []string{"birch.example:1"}) {
		t.Errorf("a change lost the endpoints: %+v", p)
	}
	alder.hub.Knock(federation.Knock{Hub: "birch", Pin: pinOf("new"), Host: "192.0.2.1"})
	refusedWith(t, approval("new", asIs), wire.ReasonHubIDTaken)
	refusedWith(t, approval("new", func(a *Approval) { a.Replace = true }), "")
	if p, _ := alder.hub.Trust().Peer("birch"); p.Pins[0] != pinOf("new") || len(p.Endpoints) != 1 {
		t.Errorf("the key was not changed: %+v", p)
	}
}

// An approval by another key ends the call of a joined one: its hub is a peer.
func TestApprovalEndsWhatWasJoined(t *testing.T) {
	alder, birch := newSide(t, "alder"), newSide(t, "birch")
	inv, _ := alder.invite(t)
	if _, err := birch.hub.Join(t.Context(), inv, "root"); err != nil {
		t.Fatal(err)
	}
	a := granted(t, "other key")
	a.Hub, a.Endpoints = "alder", []string{"alder.example:1"}
	if _, err := birch.hub.Approve(t.Context(), a); err != nil || len(birch.hub.Pending()) != 0 {
		t.Errorf("%v, pending %+v", err, birch.hub.Pending())
	}
}

// A key that was turned away stays so over restarts, calls in vain, and can be
// approved.
func TestReject(t *testing.T) {
	alder := newSide(t, "alder")
	inv, _ := alder.invite(t)
	alder.knock(t, "birch", inv.Hash())
	alder.knock(t, "elm", [32]byte{})
	reject := func(name string) error {
		_, err := alder.hub.Reject(t.Context(), Rejection{Pin: pinOf(name), By: "Ann", User: "root"})
		return err
	}
	refusedWith(t, reject("birch"), "")
	refusedWith(t, reject("elm"), "")
	refusedWith(t, reject("oak"), wire.ReasonNoSuchPending)
	for _, snapshot := range []bool{false, true} {
		alder.restart(t, snapshot)
		head := alder.settle(t).Head
		refusedWith(t, reject("elm"), "")
		again := alder.hub.Trust()
		for _, name := range []string{"birch", "elm"} {
			alder.knock(t, name, inv.Hash())
			if again.Blocked(pinOf(name)) != string(wire.ReasonPeerRejected) || len(alder.hub.Pending()) != 0 {
				t.Errorf("%s is let in again: %+v", name, alder.hub.Pending())
			}
		}
		if alder.settle(t).Head != head {
			t.Error("a rejected key writes events")
		}
	}
	for _, name := range []string{"birch", "elm"} { // what the calls had said is enough
		p := alder.approve(t, name)
		if string(p.Hub) != name || !slices.Equal(p.Endpoints, []string{name + ".example:1"}) || alder.hub.Trust().Blocked(pinOf(name)) != "" {
			t.Errorf("a rejected key was approved as %+v", p)
		}
		refusedWith(t, reject(name), wire.ReasonPinTaken)
	}
}

// A rejected hub whose invitation was taken here is shown its secret again once it
// is approved.
func TestRejectKeepsTheInvitation(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		alder, birch := newSide(t, "alder"), newSide(t, "birch")
		inv, _ := alder.invite(t)
		if _, err := birch.hub.Join(t.Context(), inv, "root"); err != nil {
			t.Fatal(err)
		}
		r, err := birch.hub.Reject(t.Context(), Rejection{Pin: alder.pin(), By: "Ann", User: "root"})
		if err != nil || r.Hub != "alder" || r.By != "Ann" {
			t.Fatalf("%+v, %v", r, err)
		}
		birch.restart(t, snapshot)
		if p := birch.approve(t, "alder"); p.Hub != "alder" || !slices.Equal(p.Endpoints, alder.endpoints()) || !bytes.Equal(p.Invite, inv.Secret[:]) {
			t.Errorf("%+v", p)
		}
	}
}

// A dry run decides as the real one does, and writes nothing.
func TestDryRuns(t *testing.T) {
	alder := newSide(t, "alder")
	approve(t, alder.rig, "oak", "proj/*")
	approve(t, alder.rig, "fir", "proj/*")
	if _, _, err := alder.hub.Revoke(t.Context(), Revocation{Hub: "fir", By: "Ann"}); err != nil {
		t.Fatal(err)
	}
	alder.knock(t, "birch", [32]byte{})
	alder.knock(t, "elm", [32]byte{})
	approval := func(key string, change func(*Approval)) func(bool) error {
		return func(dry bool) error {
			a := granted(t, key)
			a.DryRun = dry
			change(&a)
			_, err := alder.hub.Approve(t.Context(), a)
			return err
		}
	}
	rejection := func(key string) func(bool) error {
		return func(dry bool) error {
			_, err := alder.hub.Reject(t.Context(), Rejection{Pin: pinOf(key), By: "Ann", DryRun: dry})
			return err
		}
	}
	asIs := func(*Approval) {}
	for name, run := range map[string]func(bool) error{
		"unknown key":      approval("ash", asIs),
		"wrong hub":        approval("birch", func(a *Approval) { a.Hub = "larch" }),
		"no such peer":     approval("birch", func(a *Approval) { a.Replace = true }),
		"a peer already":   approval("oak", asIs),
		"no patterns":      approval("fir", func(a *Approval) { a.MayReach = nil }),
		"revoked":          approval("fir", asIs),
		"pending":          approval("birch", asIs),
		"reject a peer":    rejection("oak"),
		"reject nobody":    rejection("ash"),
		"reject a pending": rejection("elm"),
	} {
		head, rows := alder.settle(t).Head, len(alder.hub.Pending())
		dry := run(true)
		if alder.settle(t).Head != head || len(alder.hub.Pending()) != rows {
			t.Errorf("%s: the dry run changed something", name)
		}
		if wet := run(false); fmt.Sprint(dry) != fmt.Sprint(wet) {
			t.Errorf("%s: %v, and in earnest %v", name, dry, wet)
		}
	}
	a := granted(t, "birch")
	a.DryRun, a.Replace = true, true
	if p, err := alder.hub.Approve(t.Context(), a); err != nil || p.Hub != "birch" || len(p.Endpoints) != 1 {
		t.Errorf("the dry run shows %+v, %v", p, err)
	}
}

// What is queued for a revoked hub is held, also over a restart, and goes on when
// it is approved again, by its key alone or by another one.
func TestRevokeHoldsTheQueue(t *testing.T) {
	for _, key := range []string{"birch", "another"} {
		alder, birch := newSide(t, "alder"), newSide(t, "birch")
		approve(t, alder.rig, "birch", "proj/*")
		approve(t, birch.rig, "alder", "proj/*")
		a := alder.join("proj/a")
		a.chat("proj/b@birch", "before")
		for i, r := range []struct {
			Revocation
			want    wire.Reason
			already bool
		}{
			{Revocation{Hub: "oak", By: "Ann", User: "root", Why: "why"}, wire.ReasonUnknownHub, false},
			{Revocation{Hub: "oak", By: "Ann", User: "root", Why: "why", DryRun: true}, wire.ReasonUnknownHub, false},
			{Revocation{Hub: "birch", By: "Ann", User: "root", Why: "the contract ended", DryRun: true}, "", false},
			{Revocation{Hub: "birch", By: "Ann", User: "root", Why: "the contract ended"}, "", false},
			{Revocation{Hub: "birch", By: "Bob", User: "root", Why: "again", DryRun: true}, "", true},
			{Revocation{Hub: "birch", By: "Bob", User: "root", Why: "again"}, "", true},
		} {
			was, already, err := alder.hub.Revoke(t.Context(), r.Revocation)
			refusedWith(t, err, r.want)
			if already != r.already || (err == nil && (was.Why != "the contract ended" || was.RevokedBy != "Ann" || len(was.MayReach) != 1)) {
				t.Errorf("revocation %d: %+v, already %v", i, was, already)
			}
		}
		a.send(`{"sender":"proj/a","type":"chat","target":"proj/b@birch","payload":"after"}`)
		if g := a.typed("error"); g.str("error_code") != string(wire.ReasonPeerRevoked) {
			t.Errorf("a chat to a revoked hub: %v", g)
		}
		if !alder.settle(t).PrivateDirected {
			t.Error("a revocation made directed messages public")
		}
		// what the peer sends until its link ends is not lost there
		b := birch.join("proj/b")
		b.chat("proj/a@alder", "held there")
		if res := hand(t, alder.rig, "birch", page(t, birch.rig, "alder", Cursor{})); res.Err == nil || alder.hub.LaneIn("birch").Seq != 0 {
			t.Errorf("a revoked hub's record was settled: %+v", res)
		}
		alder.restart(t, key == "birch")
		if r := alder.hub.Trust().Revoked(); len(r) != 1 || r[0].Why != "the contract ended" || r[0].RevokedUS == 0 || alder.hub.Trust().Blocked(pinOf("birch")) != string(wire.ReasonPeerRevoked) {
			t.Errorf("revoked %+v", r)
		}
		again := granted(t, key)
		if key == "another" {
			again.Hub = "birch"
		}
		if p, err := alder.hub.Approve(t.Context(), again); err != nil || p.Hub != "birch" || len(p.Endpoints) != 1 {
			t.Fatalf("approved again: %+v, %v", p, err)
		}
		both := &pair{t: t, alder: alder.rig, birch: birch.rig}
		both.carry(alder.rig, birch.rig)
		if g := b.until(func(g got) bool { return g.str("sender") == "proj/a@alder" }); g.str("payload") != "before" {
			t.Errorf("held: %v", g)
		}
		both.carry(birch.rig, alder.rig)
		if alder.hub.LaneIn("birch").Seq != 1 {
			t.Error("what was held there did not come")
		}
	}
}

// A journal in which an invite is used twice, or what was never given is ended,
// is refused.
func TestReplayRefusesImpossibleTrust(t *testing.T) {
	invited := journal.InviteCreated{ID: "0a1b2c3d", Hash: [32]byte{1}, ExpiresUS: 1}
	called := journal.PeerCalled{Hub: "birch", Pin: pinOf("birch"), InviteID: "0a1b2c3d"}
	withdrawn := journal.InviteWithdrawn{ID: "0a1b2c3d"}
	for name, recs := range map[string][]journal.Record{
		"withdrawn twice":     {invited, withdrawn, withdrawn},
		"withdrawn and used":  {invited, withdrawn, called},
		"used and withdrawn":  {invited, called, withdrawn},
		"withdrawn, not made": {withdrawn},
		"used twice":          {invited, called, called},
		"used and not there":  {called},
		"created twice":       {invited, invited},
		"no pattern":          {journal.PeerApproved{Hub: "birch", Pins: [][32]byte{{1}}, MayReach: []string{"[", "a/*"}}},
		"nobody revoked":      {journal.PeerRevoked{Hub: "birch"}},
	} {
		st := newState("alder")
		var err error
		for i, rec := range recs {
			ev := journal.NewEvent(uint64(i+1), 0, rec)
			if err = st.check(&ev, rec); err != nil {
				break
			}
			st.apply(&ev, rec, noTables{})
		}
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
