package federation

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fleetrelay/hub/wire"
)

var byAnn = Revocation{RevokedBy: "Ann", RevokedUser: "root", Why: "left", RevokedUS: 5}

func TestRevokeAndReject(t *testing.T) {
	b := Peer{Hub: "b.example", Pins: []Pin{pin(1), pin(2)}, MayReach: patterns("*"), Endpoints: []string{"b.example:1"}}
	c := Peer{Hub: "c.example", Pins: []Pin{pin(3)}, MayReach: patterns("*")}
	trust := NewTrust("a.example", []Peer{b, c})
	revoked := trust.Revoke("b.example", byAnn).Reject(RejectedPin{Hub: "x.example", Pin: pin(9), By: "Ann", AtUS: 6})
	renewed := b
	renewed.Pins = []Pin{pin(7)}
	tests := []struct {
		name    string
		trust   *Trust
		blocked map[uint64]string
	}{
		{"before", trust, map[uint64]string{1: "", 2: "", 3: "", 9: ""}},
		{"after", revoked, map[uint64]string{1: "peer_revoked", 2: "peer_revoked", 3: "", 9: "peer_rejected", 8: ""}},
		{"approved again", revoked.With(b), map[uint64]string{1: "", 2: "", 9: "peer_rejected"}},
		{"approved by a new key", revoked.With(renewed), map[uint64]string{1: "", 7: "", 9: "peer_rejected"}},
		{"the rejected approved", revoked.With(Peer{Hub: "x.example", Pins: []Pin{pin(9)}}), map[uint64]string{1: "peer_revoked", 9: ""}},
		{"rejecting an approved key", trust.Reject(RejectedPin{Pin: pin(3)}), map[uint64]string{3: ""}},
		{"revoking nobody", trust.Revoke("x.example", byAnn), map[uint64]string{1: "", 3: ""}},
		{"a revoked key rejected", revoked.Reject(RejectedPin{Pin: pin(1)}), map[uint64]string{1: "peer_revoked"}},
	}
	for _, test := range tests {
		for n, want := range test.blocked {
			if got := test.trust.Blocked(pin(n)); got != want {
				t.Errorf("%s: key %d is %q, want %q", test.name, n, got, want)
			}
		}
	}
	if got, _ := revoked.RevokedPeer("b.example"); cmp.Diff(got, RevokedPeer{b, byAnn}, cmp.AllowUnexported(wire.Pattern{})) != "" {
		t.Errorf("kept %v", got)
	}
	if got := trust.Reject(RejectedPin{Pin: pin(3)}).Rejected(); len(got) != 0 {
		t.Errorf("an approved key was rejected: %v", got)
	}
	if got := revoked.With(b).Revoked(); len(got) != 0 {
		t.Errorf("still revoked: %v", got)
	}
	if _, ok := revoked.Peer("b.example"); ok || revoked.Len() != 1 {
		t.Error("a revoked peer is still a peer")
	}
}

// TestRevokedNamesStayTaken: what a revoked peer had is for it alone.
func TestRevokedNamesStayTaken(t *testing.T) {
	trust := NewTrust("a.example", []Peer{{Hub: "birch", Pins: []Pin{pin(1)}, MayReach: patterns("*")}}).Revoke("birch", byAnn)
	made := func(hub wire.HubID, n uint64) Peer {
		return Peer{Hub: hub, Pins: []Pin{pin(n)}, MayReach: patterns("*")}
	}
	tests := map[string]struct {
		err  error
		want wire.Reason
	}{
		"itself":               {CheckNewPeer(trust, made("birch", 1)), ""},
		"itself by a new key":  {CheckNewPeer(trust, made("birch", 2)), ""},
		"itself, as a change":  {CheckChangedPeer(trust, made("birch", 1)), ""},
		"its key elsewhere":    {CheckNewPeer(trust, made("oak", 1)), wire.ReasonPinTaken},
		"an id that looks so":  {CheckNewPeer(trust, made("BIRCH", 2)), wire.ReasonHubIDTaken},
		"another":              {CheckNewPeer(trust, made("oak", 2)), ""},
		"a change of nobody":   {CheckChangedPeer(trust, made("oak", 2)), wire.ReasonUnknownHub},
		"endpoint of no form":  {CheckNewPeer(trust, Peer{Hub: "oak", Pins: []Pin{pin(2)}, MayReach: patterns("*"), Endpoints: []string{"oak"}}), wire.ReasonInvalidAddress},
		"secret of no size":    {CheckNewPeer(trust, Peer{Hub: "oak", Pins: []Pin{pin(2)}, MayReach: patterns("*"), Invite: []byte{1}}), wire.ReasonInvalidInvite},
		"endpoints and secret": {CheckNewPeer(trust, Peer{Hub: "oak", Pins: []Pin{pin(2)}, MayReach: patterns("*"), Endpoints: []string{"oak:1", "[::1]:2"}, Invite: make([]byte, InviteBytes)}), ""},
	}
	for name, test := range tests {
		refusal, _ := errors.AsType[*Refusal](test.err)
		if (test.err == nil) != (test.want == "") || refusal != nil && refusal.Reason != test.want {
			t.Errorf("%s: %v, want %q", name, test.err, test.want)
		}
	}
}

func TestRejectedAreBounded(t *testing.T) {
	trust := NewTrust("a.example", nil)
	for n := range uint64(MaxRejected + 10) {
		trust = trust.Reject(RejectedPin{Pin: pin(n + 1)})
	}
	trust = trust.Reject(RejectedPin{Pin: pin(12)}) // counts as the youngest now
	list := trust.Rejected()
	if len(list) != MaxRejected || list[0].Pin != pin(11) || list[len(list)-1].Pin != pin(12) {
		t.Fatalf("%d rejected, from %x to %x", len(list), list[0].Pin, list[len(list)-1].Pin)
	}
	if trust.Blocked(pin(10)) != "" || trust.Blocked(pin(11)) == "" {
		t.Error("another than the oldest was forgotten")
	}
}

// act is one change of trust by an operator.
func act(t *rapid.T, trust *Trust) *Trust {
	hub := wire.HubID(rapid.SampledFrom([]string{"p2.example", "p3.example", "p4.example"}).Draw(t, "hub"))
	key := pin(rapid.Uint64Range(1, 6).Draw(t, "key"))
	switch rapid.IntRange(0, 2).Draw(t, "act") {
	case 0:
		return trust.Revoke(hub, byAnn)
	case 1:
		return trust.Reject(RejectedPin{Pin: key})
	default:
		p := Peer{Hub: hub, Pins: []Pin{key}, MayReach: patterns(rapid.SampledFrom([]string{"*", "a/*", "a?"}).Draw(t, "reach"))}
		if CheckNewPeer(trust, p) != nil && CheckChangedPeer(trust, p) != nil {
			return trust
		}
		return trust.With(p)
	}
}

// TestTurnedAwayAreNeverAdmitted plays random operators. Whoever is not
// approved at the end passes nothing in either direction, whatever was approved
// before; no key is both approved and blocked; and a seat outside the patterns
// of the last approval is never reached.
func TestTurnedAwayAreNeverAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trust := NewTrust("self.example", nil)
		approved := map[wire.HubID]Peer{}
		for range rapid.IntRange(0, 20).Draw(t, "acts") {
			trust = act(t, trust)
		}
		for _, p := range trust.Peers() {
			approved[p.Hub] = p
		}
		seat := seats.Draw(t, "seat")
		for n := range uint64(8) {
			hub, owned := trust.HubOf(pin(n))
			if owned && trust.Blocked(pin(n)) != "" {
				t.Fatalf("key %d is approved for %s and blocked", n, hub)
			}
			if owned != slices.ContainsFunc(trust.Peers(), func(p Peer) bool { return slices.Contains(p.Pins, pin(n)) }) {
				t.Fatalf("key %d belongs to %q", n, hub)
			}
		}
		for _, hub := range []wire.HubID{"p2.example", "p3.example", "p4.example"} {
			p, ok := approved[hub]
			want := ok && slices.ContainsFunc(p.MayReach, func(p wire.Pattern) bool { return naive(p.String(), seat) })
			if in, why := trust.AdmitInbound(hub, seat); in != want {
				t.Fatalf("%s to %q: %v %s", hub, seat, in, why)
			}
			if out, why := trust.AdmitOutbound(hub, wire.Address{Name: "seat", Hub: hub}); out != ok {
				t.Fatalf("to %s: %v %s", hub, out, why)
			}
			if r, turned := trust.RevokedPeer(hub); turned {
				if ok {
					t.Fatalf("%s is approved and revoked", hub)
				}
				if _, why := trust.AdmitOutbound(hub, wire.Address{Name: "seat", Hub: hub}); why != wire.ReasonPeerRevoked {
					t.Fatalf("to the revoked %s: %s", hub, why)
				}
				for _, key := range r.Pins {
					if _, owned := trust.HubOf(key); !owned && trust.Blocked(key) != "peer_revoked" {
						t.Fatalf("a key of the revoked %s is blocked as %q", hub, trust.Blocked(key))
					}
				}
			}
		}
	})
}

// TestRefusedAnswersTellNothing: what a hub that is not approved is told does
// not depend on the seat, and what an approved one is told of a seat outside
// its patterns does not either.
func TestRefusedAnswersTellNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trust := world(t).With(Peer{Hub: "gone.example", Pins: []Pin{pin(99)}, MayReach: patterns("*", "*/*")}).Revoke("gone.example", byAnn)
		one, two := seats.Draw(t, "one"), seats.Draw(t, "two")
		hubs := []wire.HubID{"gone.example", "nobody.example"}
		for _, p := range trust.Peers() {
			hubs = append(hubs, p.Hub)
		}
		for _, hub := range hubs {
			ok1, why1 := trust.AdmitInbound(hub, one)
			ok2, why2 := trust.AdmitInbound(hub, two)
			if !ok1 && !ok2 && why1 != why2 {
				t.Fatal(fmt.Sprint(hub, one, why1, two, why2))
			}
		}
	})
}
