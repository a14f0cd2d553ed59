package node

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// TestInvitedHubKnocks goes from an invitation to an approval over real QUIC: the invited hub is refused, waits with what
// its certificate said, and is let in when an operator has decided; a hub that nobody invited waits as a stranger.
func TestInvitedHubKnocks(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	n, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = n.Serve(ctx, func(s Status) {
		defer stop()
		knockAt(ctx, t, n, s.Links)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func knockAt(ctx context.Context, t *testing.T, n *Node, links string) {
	inv, _, err := n.hub.Invite(ctx, hub.InviteRequest{By: "Ann", User: "root", Endpoints: []string{links}, Pin: federation.Pin(n.identity.Pin())})
	if err != nil {
		t.Error(err)
		return
	}
	inv, err = federation.ParseToken(inv.Token()) // as it comes out on the other side
	if err != nil {
		t.Error(err)
		return
	}
	joiner, stranger := caller(t, "joiner.example"), caller(t, "stranger.example")
	to := transport.Target{Endpoints: inv.Endpoints, Hub: inv.Hub, Call: certs.Call{Invite: inv.Secret[:], Endpoints: []string{"relay.joiner.example:8877"}}}
	for _, c := range []struct {
		*knocker
		to   transport.Target
		want func(federation.Pending) bool
	}{
		{joiner, to, func(p federation.Pending) bool {
			return p.Invited && slices.Equal(p.Endpoints, to.Call.Endpoints) && p.InviteID != ""
		}},
		{stranger, transport.Target{Endpoints: inv.Endpoints, Hub: inv.Hub}, func(p federation.Pending) bool { return !p.Invited && len(p.Endpoints) == 0 }},
	} {
		if got, err := c.q.Knock(ctx, c.to, certs.Pin(inv.Pin)); got != transport.KnockRefused {
			t.Errorf("%s: knocked with %d, %v", c.hub, got, err)
		}
		row, ok := waits(n, c.pin)
		if !ok || string(row.Hub) != c.hub || row.Host != "127.0.0.1" || !c.want(row) {
			t.Errorf("%s: waits as %+v", c.hub, row)
		}
	}
	pattern, err := wire.ParsePattern("*")
	if err != nil {
		t.Error(err)
	}
	got, err := n.hub.Approve(ctx, hub.Approval{Peer: federation.Peer{Pins: []federation.Pin{joiner.pin}, MayReach: []wire.Pattern{pattern}, By: "Ann", User: "root"}})
	if err != nil || got.Hub != "joiner.example" || !slices.Equal(got.Endpoints, to.Call.Endpoints) {
		t.Errorf("approved %+v, %v", got, err)
	}
	if got, err := joiner.q.Knock(ctx, to, certs.Pin(inv.Pin)); got != transport.KnockAccepted || err != nil {
		t.Errorf("approved, and knocked with %d, %v", got, err)
	}
}

// knocker is another hub, as far as its links' socket.
type knocker struct {
	q   *transport.QUIC
	hub string
	pin federation.Pin
}

func caller(t *testing.T, hub string) *knocker {
	id, err := certstest.Identity(certstest.Spec{Hub: hub})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q, err := transport.NewQUIC(transport.Options{Identity: id, Socket: socket, Trust: func() certs.Trust { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(q.Close(), socket.Close()); err != nil {
			t.Error(err)
		}
	})
	return &knocker{q, hub, federation.Pin(id.Pin())}
}

// waits returns the pending row of a key, which the core makes after the caller was refused.
func waits(n *Node, pin federation.Pin) (row federation.Pending, ok bool) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		for _, row := range n.hub.Pending() {
			if row.Pin == pin {
				return row, true
			}
		}
	}
	return federation.Pending{}, false
}
