package hub

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

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
	if _, err := alder.hub.Reject(t.Context(), Rejection{Pin: pinOf("hub7x"), By: "Ann", User: "root"}); err != nil {
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

// The key of a joined hub is no stranger, whatever it shows when it calls: its
// row counts the calls, and only an invite under its own name makes it invited.
func TestJoinedKeyCalls(t *testing.T) {
	alder, birch := newSide(t, "alder"), newSide(t, "birch")
	back, _ := birch.invite(t)
	if _, err := alder.hub.Join(t.Context(), back, "root"); err != nil {
		t.Fatal(err)
	}
	inv, _ := alder.invite(t)
	alder.knock(t, "birch", [32]byte{})
	alder.knock(t, "birch", [32]byte{1})
	alder.hub.Knock(federation.Knock{Hub: "elm", Pin: birch.pin(), Host: "192.0.2.9", Invite: inv.Hash()})
	refusals := alder.settle(t).Refusals
	row := alder.row(t, "birch")
	if len(alder.hub.Pending()) != 1 || row.Invited || row.Hub != "birch" || row.Times != 3 || row.Host != "192.0.2.9" || row.FirstUS == 0 || row.LastUS < row.FirstUS {
		t.Errorf("%+v", alder.hub.Pending())
	}
	if refusals[wire.ReasonInvalidInvite] != 1 || refusals[wire.ReasonWrongHubID] != 1 {
		t.Errorf("refusals %v", refusals)
	}
	alder.knock(t, "birch", inv.Hash())
	if row = alder.row(t, "birch"); !row.Joined || !row.Invited {
		t.Errorf("%+v", row)
	}
}

// A call that was on its way while its key was decided on changes nothing.
func TestCallOvertakenByADecision(t *testing.T) {
	l := newLab(t)
	run := func(c command) { l.core.one(l.turn(), c) }
	call := l.asks["knockCommand"]()
	run(call)
	rows, head := l.core.view.st.ceremony.pending, l.core.view.st.head
	if len(rows) != 1 || !rows[0].Invited {
		t.Fatalf("%+v", rows)
	}
	run(call)
	for _, rec := range []journal.Record{
		journal.PeerRejected{Hub: "oak", Pin: federation.Pin{9}},
		journal.PeerApproved{Hub: "oak", Pins: [][32]byte{{9}}, MayReach: []string{"a/*"}},
	} {
		run(&operatorCommand{reply: make(chan error, 1), run: func(v *view, d *draft) error { d.add(v.now, rec); return nil }})
		run(call)
	}
	if st := l.core.view.st; st.head != head+2 || len(st.ceremony.pending) != 0 {
		t.Errorf("%d events, pending %+v", st.head-head, st.ceremony.pending)
	}
}
