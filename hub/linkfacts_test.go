package hub

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

func agree(t *testing.T, r *rig, peer wire.HubID, c federation.Ceiling) {
	t.Helper()
	if err := r.hub.ProfileAgreed(t.Context(), peer, federation.Profile{Version: 1, Ceiling: c}); err != nil {
		t.Fatal(err)
	}
}

// What a link admits is journalled and numbered when it changes, and a chat that
// needs more is refused before anything of it is stored.
func TestChatBeyondTheProfile(t *testing.T) {
	fs := vfs.NewMem()
	r := startRig(t, fs)
	approve(t, r, "birch", "proj/*")
	a := r.join("proj/a")
	a.chat("proj/b@birch", strings.Repeat("x", 300)) // nothing is known of the link yet
	small := federation.BuildCeiling(200)
	agree(t, r, "birch", small)
	agree(t, r, "birch", small)
	before, _ := r.store.Head()
	if why := a.refusedChat("proj/b@birch", strings.Repeat("x", 300)); why != "profile_gap" {
		t.Errorf("a large chat: %q", why)
	}
	if after, _ := r.store.Head(); after != before {
		t.Error("something of a refused chat was stored")
	}
	a.chat("proj/b@birch", "short")
	small.Chat = false
	agree(t, r, "birch", small)
	if why := a.refusedChat("proj/b@birch", "short"); why != "profile_gap" {
		t.Errorf("a chat that is not admitted: %q", why)
	}
	a.chat("proj/c", strings.Repeat("x", 300))
	want := Agreed{Number: 2, Profile: federation.Profile{Version: 1, Ceiling: small}}
	if got := r.hub.Profile("birch"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.stop()
	again := startRig(t, fs)
	if got := again.hub.Profile("birch"); got != want {
		t.Errorf("after a restart %+v, want %+v", got, want)
	}
}

func TestBackoffOutlivesTheProcess(t *testing.T) {
	fs := vfs.NewMem()
	r := startRig(t, fs)
	approve(t, r, "birch", "proj/*")
	want := Backoff{Attempts: 4, Reason: wire.ReasonCertificateRefused, NextUS: 1796063246832343, RevokedUS: 1796063246000000}
	for range 2 {
		if err := r.hub.LinkBackoff(t.Context(), "birch", want); err != nil {
			t.Fatal(err)
		}
	}
	head, _ := r.store.Head()
	if err := r.hub.LinkBackoff(t.Context(), "birch", want); err != nil {
		t.Fatal(err)
	}
	if again, _ := r.store.Head(); again != head {
		t.Error("the same was journalled again")
	}
	snapshotNow(t, r)
	r.stop()
	r = startRig(t, fs)
	if got := r.hub.Backoff("birch"); got != want {
		t.Errorf("%+v", got)
	}
	if err := r.hub.LinkBackoff(t.Context(), "birch", Backoff{}); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = startRig(t, fs)
	if got := r.hub.Backoff("birch"); got != (Backoff{}) {
		t.Errorf("%+v", got)
	}
	var refused *Error
	if err := r.hub.LinkBackoff(t.Context(), "stranger", want); !errors.As(err, &refused) || refused.Reason != wire.ReasonUnknownPeer {
		t.Errorf("of a stranger: %v", err)
	}
}
