package hub

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/federation"
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

func (n *news) PeersChanged() { n.changed.Add(1) }
