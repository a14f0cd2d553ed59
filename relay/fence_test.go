package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

func TestFence(t *testing.T) {
	epoch, other := [16]byte{1}, [16]byte{2}
	hash := func(n uint64) [32]byte { return [32]byte{byte(n), 9} }
	lane := func(acked, head uint64) ownLane {
		return ownLane{epoch, hub.LaneOut{Head: head, Acked: acked}, func(seq uint64) ([32]byte, bool) {
			return hash(seq), seq >= acked && seq <= head
		}}
	}
	at := func(e [16]byte, seq uint64) frame.Position {
		return frame.Position{EpochID: e, Seq: seq, Hash: hash(seq)}
	}
	for name, c := range map[string]struct {
		lane   ownLane
		theirs frame.Position
		want   wire.Reason
	}{
		"nothing yet":          {lane(0, 0), frame.Position{}, ""},
		"nothing of some":      {lane(0, 5), frame.Position{}, ""},
		"all":                  {lane(5, 5), at(epoch, 5), ""},
		"acked only":           {lane(3, 5), at(epoch, 3), ""},
		"more than acked":      {lane(3, 5), at(epoch, 4), ""},
		"beyond the head":      {lane(3, 5), at(epoch, 6), wire.ReasonRewound},
		"beyond an empty lane": {lane(0, 0), at(epoch, 1), wire.ReasonRewound},
		"below acked":          {lane(3, 5), at(epoch, 2), wire.ReasonRewound},
		"nothing after all":    {lane(3, 5), frame.Position{}, wire.ReasonRewound},
		"another epoch":        {lane(3, 5), at(other, 4), wire.ReasonRewound},
		"another hash":         {lane(3, 5), frame.Position{EpochID: epoch, Seq: 4, Hash: hash(3)}, wire.ReasonCloned},
		"hash not known": {
			ownLane{epoch, hub.LaneOut{Head: 5}, func(uint64) ([32]byte, bool) { return [32]byte{}, false }},
			at(epoch, 4), wire.ReasonInternalError,
		},
	} {
		why := c.lane.fenceTheirs(c.theirs)
		if got := reasonOrNone(why); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func reasonOrNone(why *refusal) wire.Reason {
	if why == nil {
		return ""
	}
	return why.reason
}

func TestFenceOurs(t *testing.T) {
	epoch, other := [16]byte{1}, [16]byte{2}
	for name, c := range map[string]struct {
		ours   frame.Position
		epoch  [16]byte
		extent frame.Extent
		want   wire.Reason
	}{
		"nothing yet":       {frame.Position{}, epoch, frame.Extent{}, ""},
		"nothing of some":   {frame.Position{}, epoch, frame.Extent{Head: 9}, ""},
		"up to the head":    {frame.Position{EpochID: epoch, Seq: 9}, epoch, frame.Extent{Head: 9, Acked: 9}, ""},
		"beyond the head":   {frame.Position{EpochID: epoch, Seq: 9}, epoch, frame.Extent{Head: 8, Acked: 8}, wire.ReasonRewound},
		"below acked":       {frame.Position{EpochID: epoch, Seq: 7}, epoch, frame.Extent{Head: 9, Acked: 8}, wire.ReasonRewound},
		"nothing after all": {frame.Position{}, epoch, frame.Extent{Head: 9, Acked: 8}, wire.ReasonRewound},
		"another epoch":     {frame.Position{EpochID: other, Seq: 7}, epoch, frame.Extent{Head: 9, Acked: 7}, wire.ReasonRewound},
	} {
		hello := frame.Hello{EpochID: c.epoch, Out: c.extent}
		if got := reasonOrNone(fenceOurs(&c.ours, &hello)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A journal that went back, or of which there are two, is fenced: nothing crosses in either direction, both sides show
// why, and the peer is tried only slowly.
func TestFencedPeers(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(a, b *store)
		want wire.Reason
	}{
		"sender restored": {func(a, _ *store) {
			a.with(beta, func(l *testLane) { l.out, l.hashes, l.acked = l.out[:4], l.hashes[:5], 4 })
		}, wire.ReasonRewound},
		"receiver restored": {func(_, b *store) {
			b.with(alpha, func(l *testLane) { l.held, l.in = l.held[:2], hub.Cursor{EpochID: l.in.EpochID, Seq: 2} })
		}, wire.ReasonRewound},
		"sender made anew": {func(a, _ *store) {
			a.epochID[15]++
		}, wire.ReasonRewound},
		"sender cloned": {func(a, _ *store) { // another copy sent other records under the same numbers
			a.with(beta, func(l *testLane) {
				l.out, l.hashes, l.acked = l.out[:4], l.hashes[:5], 4
				for range 20 {
					a.acceptLocked(l, beta, []byte(`{"payload":"of the clone"}`))
				}
			})
		}, wire.ReasonCloned},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				a, b := newStore(alpha, beta), newStore(beta, alpha)
				p := startPair(t, n, a, b)
				defer func() { p.stop() }()
				p.a.send(beta, 10)
				p.b.send(alpha, 10)
				await(time.Minute, p.settled)
				p.a.stop()
				p.b.stop()
				c.harm(a, b)
				in, out := len(a.lanes[beta].held), len(b.lanes[alpha].held)
				p.a, p.b = start(t, n, a, a), start(t, n, b, b)
				p.a.send(beta, 5)
				p.b.send(alpha, 5)
				dials := n.dialled()
				await(10*time.Minute, func() bool { return false })
				for _, l := range []LinkStatus{p.a.link(t, beta), p.b.link(t, alpha)} {
					if l.State != Fenced && l.State != Dialling && l.State != Greeting || l.LastReason != c.want {
						t.Errorf("%+v, want %s", l, c.want)
					}
				}
				if got := n.dialled() - dials; got < 10 || got > 60 {
					t.Errorf("%d dials in ten minutes", got)
				}
				if len(a.lanes[beta].held) != in || len(b.lanes[alpha].held) != out {
					t.Error("records crossed a fence")
				}
			})
		})
	}
}
