package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// side is one hub in a ceremony, with a clock of its own.
type side struct {
	*rig
	id   wire.HubID
	fs   vfs.FS
	skew *atomic.Int64
}

func newSide(t *testing.T, id wire.HubID) *side {
	t.Helper()
	s := &side{id: id, fs: vfs.NewMem(), skew: &atomic.Int64{}}
	s.rig = s.start(t)
	return s
}

func (s *side) start(t *testing.T) *rig {
	t.Helper()
	return startRig(t, s.fs, func(o *Options) {
		o.HubID = s.id
		o.Now = func() time.Time { return time.Now().Add(time.Duration(s.skew.Load())) }
	})
}

// restart goes on from the journal, through a snapshot if there is to be one.
func (s *side) restart(t *testing.T, snapshot bool) {
	t.Helper()
	if snapshot {
		snapshotNow(t, s.rig)
	}
	s.stop()
	s.rig = s.start(t)
}

func (s *side) pass(d time.Duration) { s.skew.Add(int64(d)) }

func pinOf(name string) (pin federation.Pin) {
	copy(pin[:], name)
	return pin
}

func (s *side) pin() federation.Pin { return pinOf(string(s.id)) }

func (s *side) endpoints() []string { return []string{string(s.id) + ".example:8877"} }

func (s *side) invite(t *testing.T) (federation.Invitation, string) {
	t.Helper()
	inv, id, err := s.hub.Invite(t.Context(), InviteRequest{By: "Ann", User: "root", Endpoints: s.endpoints(), Pin: s.pin()})
	if err != nil {
		t.Fatal(err)
	}
	return inv, id
}

// knock calls as the hub of a name would, and waits until the core has decided.
func (s *side) knock(t *testing.T, hub string, invite [32]byte) {
	t.Helper()
	s.hub.Knock(federation.Knock{Hub: wire.HubID(hub), Pin: pinOf(hub), Host: "192.0.2.1", Endpoints: []string{hub + ".example:1"}, Invite: invite})
	s.settle(t)
}

func (s *side) settle(t *testing.T) Status {
	t.Helper()
	st, err := s.hub.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// row is the pending row of a hub's key; it must be there.
func (s *side) row(t *testing.T, hub string) federation.Pending {
	t.Helper()
	for _, p := range s.hub.Pending() {
		if p.Pin == pinOf(hub) {
			return p
		}
	}
	t.Fatalf("%s is not pending at %s: %+v", hub, s.id, s.hub.Pending())
	return federation.Pending{}
}

func granted(t *testing.T, hub string) Approval {
	t.Helper()
	pattern, err := wire.ParsePattern("proj/*")
	if err != nil {
		t.Fatal(err)
	}
	return Approval{Peer: federation.Peer{Pins: []federation.Pin{pinOf(hub)}, MayReach: []wire.Pattern{pattern}, By: "Ann", User: "root"}}
}

func (s *side) approve(t *testing.T, hub string) federation.Peer {
	t.Helper()
	p, err := s.hub.Approve(t.Context(), granted(t, hub))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refusedWith checks the reason of a refusal, "" for none.
func refusedWith(t *testing.T, err error, want wire.Reason) {
	t.Helper()
	var (
		of *Error
		by *federation.Refusal
	)
	switch {
	case errors.As(err, &of) && of.Reason == want, errors.As(err, &by) && by.Reason == want, err == nil && want == "":
	default:
		t.Errorf("got %v, want %q", err, want)
	}
}

// news counts what a relay is told.
type news struct{ changed atomic.Int64 }

func (*news) Wake(wire.HubID, uint64) {}
func (n *news) PeersChanged()         { n.changed.Add(1) }

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

// An invite is good for one key, once and in its time, whatever is started again
// in between.
func TestInviteIsUsedOnce(t *testing.T) {
	alder := newSide(t, "alder")
	inv, _ := alder.invite(t)
	late, _ := alder.invite(t)
	alder.knock(t, "birch", inv.Hash())
	for _, restart := range []func(){func() {}, func() { alder.restart(t, false) }, func() { alder.restart(t, true) }} {
		restart()
		alder.knock(t, "elm", inv.Hash())
		if !alder.row(t, "birch").Invited {
			t.Error("who called first is not invited")
		}
		if row := alder.row(t, "elm"); row.Invited || row.InviteID != "" {
			t.Errorf("a second key got in with a used invite: %+v", row)
		}
	}
	alder.pass(DefaultInviteTTL)
	alder.knock(t, "fir", late.Hash())
	if alder.row(t, "fir").Invited {
		t.Error("an expired invite was taken")
	}
	refusals := alder.settle(t).Refusals
	if refusals[wire.ReasonInviteUsed] != 1 || refusals[wire.ReasonInviteExpired] != 1 {
		t.Errorf("refusals since the last start: %v", refusals)
	}
}

// Of those who are not let in by an invite, all are strangers, with the reason counted.
func TestCallsThatUseNoInvite(t *testing.T) {
	alder := newSide(t, "alder")
	inv, _ := alder.invite(t)
	for i, test := range []struct {
		hub    string
		invite [32]byte
		want   wire.Reason
	}{
		{"alder", inv.Hash(), wire.ReasonWrongHubID},
		{"a1der", inv.Hash(), wire.ReasonWrongHubID},
		{"not a hub", inv.Hash(), wire.ReasonWrongHubID},
		{"oak", [32]byte{1}, wire.ReasonInvalidInvite},
	} {
		alder.hub.Knock(federation.Knock{Hub: wire.HubID(test.hub), Pin: pinOf(test.hub), Host: fmt.Sprint(i), Invite: test.invite})
		before := alder.settle(t).Refusals[test.want]
		if row := alder.row(t, test.hub); row.Invited || before == 0 {
			t.Errorf("%s: %+v, counted %d", test.hub, row, before)
		}
	}
	alder.knock(t, "birch", inv.Hash())
	if !alder.row(t, "birch").Invited {
		t.Error("the invite was used up")
	}
}

// Rows go when their time is over.
func TestPendingExpires(t *testing.T) {
	alder, birch := newSide(t, "alder"), newSide(t, "birch")
	inv, _ := alder.invite(t)
	if _, err := birch.hub.Join(t.Context(), inv, "root"); err != nil {
		t.Fatal(err)
	}
	alder.knock(t, "birch", inv.Hash())
	alder.knock(t, "elm", [32]byte{})
	for _, step := range []struct {
		after                time.Duration
		at, here, strangeRow int
	}{{0, 1, 2, 1}, {federation.StrangerLife, 1, 1, 0}, {DefaultInviteTTL - federation.StrangerLife, 0, 1, 0}, {calledLife - DefaultInviteTTL, 0, 0, 0}} {
		alder.pass(step.after)
		birch.pass(step.after)
		if len(birch.hub.Joined()) != step.at || len(alder.hub.Pending()) != step.here {
			t.Errorf("after %s more: joined %d, pending %d", step.after, len(birch.hub.Joined()), len(alder.hub.Pending()))
		}
	}
	_, err := birch.hub.Approve(t.Context(), granted(t, "alder"))
	refusedWith(t, err, wire.ReasonNoSuchPending)
	_, err = birch.hub.Join(t.Context(), inv, "root")
	refusedWith(t, err, wire.ReasonInviteExpired)
}

// However many call, the book stays small, the journal as it is, and who was
// invited gets in.
func TestTenThousandCallers(t *testing.T) {
	alder := newSide(t, "alder")
	inv, _ := alder.invite(t)
	head := alder.settle(t).Head
	for i := range 10_000 {
		name := fmt.Sprintf("hub-%d", i)
		k := federation.Knock{Hub: wire.HubID(name), Pin: pinOf(name), Host: fmt.Sprint("host-", i%500)}
		if i%2 == 0 {
			k.Invite = [32]byte{byte(i), byte(i >> 8), 1} // a guess
		}
		alder.hub.Knock(k)
	}
	alder.hub.Knock(federation.Knock{Hub: "birch", Pin: pinOf("birch"), Host: "host-1", Invite: inv.Hash()})
	for deadline := time.Now().Add(20 * time.Second); !alder.isPending("birch"); alder.settle(t) {
		if time.Now().After(deadline) {
			t.Fatal("who was invited did not get in")
		}
		alder.hub.Knock(federation.Knock{Hub: "birch", Pin: pinOf("birch"), Host: "host-1", Invite: inv.Hash()})
	}
	if n := len(alder.hub.Pending()); n > federation.MaxStrangers+1 || n < federation.MaxStrangers {
		t.Errorf("%d rows", n)
	}
	st := alder.settle(t)
	if st.Head != head+1 || st.Refusals[wire.ReasonPendingFull] < 5_000 {
		t.Errorf("%d events, refusals %v", st.Head-head, st.Refusals)
	}
}

func (s *side) isPending(hub string) bool {
	return slices.ContainsFunc(s.hub.Pending(), func(p federation.Pending) bool { return p.Pin == pinOf(hub) && p.Invited })
}

// The rows of the journal are bounded, and a full one uses no invite up.
func TestPendingRowsAreBounded(t *testing.T) {
	alder := newSide(t, "alder")
	soon := time.Now().Add(time.Hour).UnixMicro()
	for i := range maxPending {
		name := fmt.Sprintf("hub%dx", i)
		inv := federation.Invitation{Hub: wire.HubID(name), Pin: pinOf(name), Endpoints: []string{"h.example:1"}, Secret: [16]byte{1}, ExpiresUS: soon}
		if _, err := alder.hub.Join(t.Context(), inv, "root"); err != nil {
			t.Fatal(err)
		}
	}
	one := federation.Invitation{Hub: "birch", Pin: pinOf("birch"), Endpoints: []string{"h.example:1"}, Secret: [16]byte{1}, ExpiresUS: soon}
	_, err := alder.hub.Join(t.Context(), one, "root")
	refusedWith(t, err, wire.ReasonPendingFull)
	inv, _ := alder.invite(t)
	alder.knock(t, "birch", inv.Hash())
	if alder.isPending("birch") {
		t.Error("a row too many")
	}
	if err := alder.hub.Reject(t.Context(), pinOf("hub7x"), "Ann", "root"); err != nil {
		t.Fatal(err)
	}
	alder.knock(t, "birch", inv.Hash())
	if !alder.isPending("birch") {
		t.Error("the invite was used up while there was no room")
	}
}

func TestInviteBounds(t *testing.T) {
	alder := newSide(t, "alder")
	ask := func(r InviteRequest) error { _, _, err := alder.hub.Invite(t.Context(), r); return err }
	refusedWith(t, ask(InviteRequest{Endpoints: alder.endpoints(), TTL: MaxInviteTTL + 1}), wire.ReasonWrongUsage)
	refusedWith(t, ask(InviteRequest{Endpoints: alder.endpoints(), TTL: -1}), wire.ReasonWrongUsage)
	refusedWith(t, ask(InviteRequest{}), wire.ReasonInvalidAddress)
	refusedWith(t, ask(InviteRequest{Endpoints: []string{"h"}}), wire.ReasonInvalidAddress)
	for range maxInvites {
		alder.invite(t)
	}
	refusedWith(t, ask(InviteRequest{Endpoints: alder.endpoints()}), wire.ReasonTooManyInvites)
	for range 3 { // each time all of them end, and only so many are remembered
		alder.pass(DefaultInviteTTL)
		for range maxInvites {
			alder.invite(t)
		}
	}
	if err := alder.hub.operate(t.Context(), func(v *view, _ *draft) error {
		if n := len(v.st.ceremony.invites); n > maxInvites+maxClosedInvites {
			return fmt.Errorf("%d invites are remembered", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
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
	if err := alder.hub.Reject(t.Context(), pinOf("fir"), "Ann", "root"); err != nil {
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
	refusedWith(t, approval("oak", func(a *Approval) { a.Hub = "oak" }), wire.ReasonNoSuchPending)
	refusedWith(t, approval("oak", func(a *Approval) { a.Hub, a.Endpoints = "oak", []string{"oak.example:1"} }), "")
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
	reject := func(name string) error { return alder.hub.Reject(t.Context(), pinOf(name), "Ann", "root") }
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
	a := granted(t, "birch")
	a.Hub, a.Endpoints = "birch", []string{"birch.example:1"}
	if _, err := alder.hub.Approve(t.Context(), a); err != nil || alder.hub.Trust().Blocked(pinOf("birch")) != "" {
		t.Errorf("approving a rejected key: %v", err)
	}
	refusedWith(t, reject("birch"), wire.ReasonPinTaken)
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
		refusedWith(t, alder.hub.Revoke(t.Context(), "oak", "Ann", "root", "why"), wire.ReasonUnknownHub)
		for range 2 {
			refusedWith(t, alder.hub.Revoke(t.Context(), "birch", "Ann", "root", "the contract ended"), "")
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

// A call never waits: neither for a hub that does not get on nor for one that ends.
func TestKnockNeverBlocks(t *testing.T) {
	alder := newSide(t, "alder")
	inv, _ := alder.invite(t)
	stuck, released := make(chan struct{}), make(chan struct{})
	go func() {
		_ = alder.hub.operate(context.Background(), func(*view, *draft) error { close(stuck); <-released; return nil })
	}()
	<-stuck
	for i := range 4 * knockDepth {
		alder.hub.Knock(federation.Knock{Hub: "birch", Pin: pinOf(fmt.Sprint(i)), Host: fmt.Sprint(i), Invite: inv.Hash()})
	}
	close(released)
	alder.stop()
	alder.hub.Knock(federation.Knock{Hub: "birch", Pin: pinOf("birch"), Host: "h", Invite: inv.Hash()})
}

// A journal in which an invite is used twice, or what was never given is ended,
// is refused.
func TestReplayRefusesImpossibleTrust(t *testing.T) {
	invited := journal.InviteCreated{ID: "0a1b2c3d", Hash: [32]byte{1}, ExpiresUS: 1}
	called := journal.PeerCalled{Hub: "birch", Pin: pinOf("birch"), InviteID: "0a1b2c3d"}
	for name, recs := range map[string][]journal.Record{
		"used twice":         {invited, called, called},
		"used and not there": {called},
		"created twice":      {invited, invited},
		"no pattern":         {journal.PeerApproved{Hub: "birch", Pins: [][32]byte{{1}}, MayReach: []string{"[", "a/*"}}},
		"nobody revoked":     {journal.PeerRevoked{Hub: "birch"}},
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
