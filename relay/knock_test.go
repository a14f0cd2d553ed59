package relay

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// door is a transport at which a hub knocks; answer says what each call brings.
type door struct {
	memTransport
	answer func(call int) (transport.KnockResult, error)

	mu    sync.Mutex
	at    []time.Time
	asked []transport.Target
}

func (d *door) Knock(_ context.Context, to transport.Target, pin certs.Pin) (transport.KnockResult, error) {
	if federation.Pin(pin) != pinFor(to.Hub) {
		panic("another key")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.asked = append(d.at, time.Now()), append(d.asked, to)
	return d.answer(len(d.at))
}

func (d *door) calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.at)
}

// joinedRow is a hub whose invitation was taken, which is open for a day.
func joinedRow(hub wire.HubID) federation.Pending {
	return federation.Pending{
		Hub: hub, Pin: pinFor(hub), Endpoints: []string{"there:1"}, Joined: true, Invite: make([]byte, federation.InviteBytes),
		ExpiresUS: time.Now().Add(24 * time.Hour).UnixMicro(),
	}
}

// knockAt runs a relay that has taken one invitation, until the returned function is called.
func knockAt(t *testing.T, d *door, joined func() []federation.Pending) *node {
	t.Helper()
	s := newStore(alpha)
	d.memTransport = memTransport{newNetwork(), alpha}
	return startOptions(t, Options{Core: s, Transport: d, Joined: joined, Endpoints: func() []string { return []string{"here:1"} }}, s)
}

func TestKnocksUntilApprovedThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const refusals = 12
		d := &door{answer: func(call int) (transport.KnockResult, error) {
			switch {
			case call == 1:
				return 0, &transport.Error{Op: "dial", Reason: wire.ReasonLinkLost, Err: errUnreachable}
			case call <= refusals:
				return transport.KnockRefused, nil
			}
			return transport.KnockAccepted, nil
		}}
		row := joinedRow(beta)
		n := knockAt(t, d, func() []federation.Pending { return []federation.Pending{row} })
		defer func() { n.stop(); n.close() }()
		state := func() KnockStatus { return n.relay.Knocks()[0] }
		synctest.Wait()
		if s := state(); d.calls() != 1 || s.Reason != wire.ReasonLinkLost || s.Hub != beta || s.NextUS == 0 {
			t.Errorf("after the first call: %+v", s)
		}
		if !await(time.Minute, func() bool { return d.calls() == 3 }) || state().Reason != wire.ReasonPeerPending {
			t.Errorf("refused: %+v", state())
		}
		if !await(time.Hour, func() bool { return state().Accepted }) {
			t.Fatalf("never accepted: %+v", state())
		}
		calls := d.calls()
		if await(time.Hour, func() bool { return d.calls() > calls }) {
			t.Error("called again after it was accepted")
		}
		for i := 1; i < len(d.at); i++ {
			least, most := min(firstKnock<<(i-1), lastKnock)*4/5, min(firstKnock<<(i-1), lastKnock)*6/5
			if wait := d.at[i].Sub(d.at[i-1]); i < 8 && (wait < least || wait > most) || wait > lastKnock*6/5 {
				t.Errorf("wait %d is %v, not between %v and %v", i, wait, least, most)
			}
		}
		if c := d.asked[0]; !slices.Equal(c.Endpoints, row.Endpoints) || !slices.Equal(c.Call.Endpoints, []string{"here:1"}) || len(c.Call.Invite) != federation.InviteBytes {
			t.Errorf("called %+v", c)
		}
	})
}

func TestKnocksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &door{answer: func(int) (transport.KnockResult, error) { return transport.KnockRefused, nil }}
		var mu sync.Mutex
		rows := []federation.Pending{joinedRow(beta)}
		n := knockAt(t, d, func() []federation.Pending {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(rows)
		})
		defer func() { n.stop(); n.close() }()
		set := func(now ...federation.Pending) {
			mu.Lock()
			rows = now
			mu.Unlock()
			n.relay.PeersChanged()
			synctest.Wait()
		}
		await(time.Minute, func() bool { return d.calls() > 2 })

		// Decided: no more calls, and nothing is shown.
		set()
		calls := d.calls()
		if await(10*time.Minute, func() bool { return d.calls() > calls }) || len(n.relay.Knocks()) != 0 {
			t.Error("called a hub that was decided about")
		}

		// A later invitation of the same key is called with, at once.
		later := joinedRow(beta)
		later.Invite[0] = 1
		set(later)
		if d.calls() != calls+1 || d.asked[calls].Call.Invite[0] != 1 {
			t.Errorf("%d calls after a new invitation", d.calls()-calls)
		}

		// Its end is the end of the calls.
		soon := joinedRow(beta)
		soon.Invite[0], soon.ExpiresUS = 2, time.Now().Add(10*time.Second).UnixMicro()
		set(soon)
		if !await(time.Hour, func() bool { s := n.relay.Knocks(); return len(s) == 1 && s[0].Reason == wire.ReasonInviteExpired }) {
			t.Errorf("%+v", n.relay.Knocks())
		}
	})
}
