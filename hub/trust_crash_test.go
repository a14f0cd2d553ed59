package hub

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/testenv/crashfs"
)

// claim is what an operator had been told of a hub, and the secret it showed.
type claim struct {
	hub    string
	rank   int
	invite [32]byte
}

// The ranks a hub goes through; one that was told is never fallen behind.
const (
	rankPending = 1 + iota
	rankApproved
	rankEnded // revoked or rejected
)

func rankOf(h *Hub, hub string) int {
	switch {
	case h.Trust().Blocked(pinOf(hub)) != "":
		return rankEnded
	case h.Trust().Len() > 0 && knownPeer(h, hub):
		return rankApproved
	}
	for _, p := range h.Pending() {
		if p.Pin == pinOf(hub) && (p.Invited || p.Joined) {
			return rankPending
		}
	}
	return 0
}

func knownPeer(h *Hub, hub string) bool {
	_, ok := h.Trust().Peer(wire.HubID(hub))
	return ok
}

// trustWork takes hubs through the ceremony and calls tell after each answer.
func trustWork(t *testing.T, r *rig, hubs int, tell func(claim)) {
	t.Helper()
	for i := range hubs {
		hub := fmt.Sprintf("hub%dx", i)
		inv, _, err := r.hub.Invite(t.Context(), InviteRequest{By: "Ann", Endpoints: []string{"h.example:1"}})
		if err != nil {
			t.Fatal(err)
		}
		c := claim{hub: hub, rank: rankPending, invite: inv.Hash()}
		r.hub.Knock(federation.Knock{Hub: wire.HubID(hub), Pin: pinOf(hub), Host: "h", Endpoints: []string{"h.example:1"}, Invite: inv.Hash()})
		if _, err := r.hub.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		tell(c)
		if i%3 == 0 {
			_, err = r.hub.Reject(t.Context(), Rejection{Pin: pinOf(hub), By: "Ann", User: "root"})
		} else {
			_, err = r.hub.Approve(t.Context(), granted(t, hub))
			c.rank = rankApproved
			tell(c)
		}
		if err == nil && i%3 == 1 {
			_, _, err = r.hub.Revoke(t.Context(), Revocation{Hub: wire.HubID(hub), By: "Ann", User: "root", Why: "why"})
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%3 < 2 {
			c.rank = rankEnded
			tell(c)
		}
	}
}

// forgotten starts a hub on what a cut left and says what of the claims is gone.
func forgotten(t *testing.T, cut crashfs.Cut, claims []claim) string {
	t.Helper()
	r := startRig(t, cut.FS)
	defer r.stop()
	for i, c := range claims[:cut.Mark] {
		if got := rankOf(r.hub, c.hub); got < c.rank {
			return fmt.Sprintf("%s was told at %d and is at %d", c.hub, c.rank, got)
		}
		thief := fmt.Sprintf("thief%dx", i)
		r.hub.Knock(federation.Knock{Hub: wire.HubID(thief), Pin: pinOf(thief), Host: "h", Invite: c.invite})
		if _, err := r.hub.Status(t.Context()); err != nil {
			return err.Error()
		}
		if rankOf(r.hub, thief) != 0 {
			return "the invite of " + c.hub + " was used twice"
		}
	}
	return ""
}

// The power is cut before every write of a ceremony: what an operator had been
// told is so, and no invite is good for a second key.
func TestPowerCutKeepsTrust(t *testing.T) {
	var mu sync.Mutex
	var claims []claim
	c := crashfs.New(vfs.NewCrashableMem(), rand.New(rand.NewPCG(rand.Uint64(), 0)), func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(claims)
	})
	r := startRig(t, c.FS())
	trustWork(t, r, 12, func(c claim) {
		mu.Lock()
		defer mu.Unlock()
		claims = append(claims, c)
	})
	r.stop()
	cuts := c.Cuts()
	for i := 0; i < len(cuts); i += 1 + len(cuts)/100 { // a start costs some milliseconds
		if lost := forgotten(t, cuts[i], claims); lost != "" {
			t.Fatalf("cut %d of %d (%s): %s", i, len(cuts), cuts[i].Op, lost)
		}
	}
}

// The same check finds a hub that tells before its sync.
func TestPowerCutOfTrustFindsEarlyEffect(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var claims []claim
	var cut crashfs.Cut
	r := startRig(t, mem, func(o *Options) { o.Fault = faultEarly })
	trustWork(t, r, 1, func(c claim) {
		claims = append(claims, c)
		cut = crashfs.Cut{FS: mem.CrashClone(vfs.CrashCloneCfg{}), Mark: len(claims)}
	})
	r.stop()
	if forgotten(t, cut, claims) == "" {
		t.Fatal("the planted fault left no trace")
	}
}
