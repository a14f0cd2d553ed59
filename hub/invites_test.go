package hub

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// An invite that was withdrawn lets nobody in, whatever is started again, and makes
// room for another; one that was used or has ended cannot be withdrawn.
func TestWithdrawInvite(t *testing.T) {
	alder := newSide(t, "alder")
	inv, id := alder.invite(t)
	used, usedID := alder.invite(t)
	alder.knock(t, "birch", used.Hash())
	for range 2 {
		if info, err := alder.hub.WithdrawInvite(t.Context(), id, "Ann", "root"); err != nil || info.Why != wire.ReasonInviteWithdrawn {
			t.Fatalf("%+v, %v", info, err)
		}
	}
	for _, snapshot := range []bool{false, true} {
		alder.restart(t, snapshot)
		alder.knock(t, "elm", inv.Hash())
		if alder.row(t, "elm").Invited || alder.settle(t).Refusals[wire.ReasonInviteWithdrawn] != 1 {
			t.Error("a withdrawn invite was taken")
		}
		list, err := alder.hub.Invites(t.Context())
		if err != nil || len(list) != 2 || list[0].Why != wire.ReasonInviteWithdrawn || list[1].Hub != "birch" || list[1].UsedBy != pinOf("birch") || list[1].By != "Ann" {
			t.Errorf("%+v, %v", list, err)
		}
	}
	withdraw := func(id string) error {
		_, err := alder.hub.WithdrawInvite(t.Context(), id, "Ann", "root")
		return err
	}
	refusedWith(t, withdraw(usedID), wire.ReasonInviteUsed)
	refusedWith(t, withdraw("00000000"), wire.ReasonNoSuchInvite)
	for range maxInvites {
		_, id = alder.invite(t)
	}
	r := InviteRequest{By: "Ann", Endpoints: alder.endpoints(), Pin: alder.pin()}
	_, _, err := alder.hub.Invite(t.Context(), r)
	refusedWith(t, err, wire.ReasonTooManyInvites)
	refusedWith(t, withdraw(id), "")
	_, id, err = alder.hub.Invite(t.Context(), r)
	refusedWith(t, err, "")
	alder.pass(DefaultInviteTTL)
	refusedWith(t, withdraw(id), wire.ReasonInviteExpired)
}

// A joined hub whose invitation has ended is shown for a day, called no more and
// approved by its key alone no more.
func TestJoinedExpires(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		alder, birch := newSide(t, "alder"), newSide(t, "birch")
		inv, _ := alder.invite(t)
		if _, err := birch.hub.Join(t.Context(), inv, "root"); err != nil {
			t.Fatal(err)
		}
		birch.pass(DefaultInviteTTL)
		birch.restart(t, snapshot)
		if got := birch.hub.Expired(); len(got) != 1 || got[0].Hub != "alder" || len(birch.hub.Pending())+len(birch.hub.Joined()) != 0 {
			t.Errorf("expired %+v, pending %+v", got, birch.hub.Pending())
		}
		_, err := birch.hub.Approve(t.Context(), granted(t, "alder"))
		refusedWith(t, err, wire.ReasonInviteExpired)
		birch.pass(expiredLife)
		_, err = birch.hub.Approve(t.Context(), granted(t, "alder"))
		refusedWith(t, err, wire.ReasonNoSuchPending)
		if got := birch.hub.Expired(); len(got) != 0 {
			t.Errorf("shown for ever: %+v", got)
		}
	}
}

// A new invitation takes the place of one that has ended, and those that have ended
// are bounded, the oldest forgotten.
func TestExpiredAreBounded(t *testing.T) {
	birch := newSide(t, "birch")
	join := func(i int) {
		name := fmt.Sprintf("hub%dx", i)
		inv := federation.Invitation{
			Hub: wire.HubID(name), Pin: pinOf(name), Endpoints: []string{"h.example:1"}, Secret: [16]byte{1},
			ExpiresUS: birch.hub.opts.Now().Add(time.Hour).UnixMicro(),
		}
		if _, err := birch.hub.Join(t.Context(), inv, "root"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxExpired + 6 {
		join(i)
	}
	birch.pass(time.Hour)
	join(maxExpired + 5)
	got := birch.hub.Expired()
	if len(got) != maxExpired-1 || got[0].Hub != "hub6x" || len(birch.hub.Pending()) != 1 {
		t.Errorf("%d expired, the first %+v, pending %+v", len(got), got[0], birch.hub.Pending())
	}
}

// The log says who came too late with an invite, as that one calls itself.
func TestLogNamesTheLateCaller(t *testing.T) {
	var log bytes.Buffer
	r := startRig(t, vfs.NewMem(), func(o *Options) { o.HubID, o.Log = "alder", slog.New(slog.NewTextHandler(&log, nil)) })
	alder := &side{rig: r, id: "alder"}
	inv, _ := alder.invite(t)
	alder.knock(t, "birch", inv.Hash())
	alder.knock(t, "elm", inv.Hash())
	r.stop()
	if want := `reason=invite_used who="192.0.2.1 as elm"`; !strings.Contains(log.String(), want) {
		t.Errorf("no %s in %s", want, &log)
	}
}
