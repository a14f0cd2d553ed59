package relay

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// startWith runs a relay whose operator admits only so much.
func startWith(t *testing.T, n *network, s *store, c federation.Ceiling) *node {
	t.Helper()
	return startOptions(t, Options{Core: s, Transport: memTransport{n, s.self}, Ceiling: &c}, s)
}

// Both cores get the lower of both sides' ceilings before the first record of either lane, and the link shows why.
func TestProfileIsAgreedBeforeRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		low := federation.BuildCeiling(wire.DefaultMaxBytes)
		low.Receipts, low.MaxBodyBytes = federation.ReceiptsImmediate, 5000
		a, b := newStore(alpha, beta), newStore(beta, alpha)
		p := &pair{n, start(t, n, a, a), startWith(t, n, b, low)}
		defer p.stop()
		p.a.send(beta, 300)
		p.b.send(alpha, 300)
		if !await(time.Minute, p.settled) {
			t.Error("not settled")
		}
		p.verify(t)
		want := federation.Profile{Version: 1, Ceiling: low}
		for _, d := range []struct {
			s    *store
			peer wire.HubID
			link LinkStatus
		}{{a, beta, p.a.link(t, beta)}, {b, alpha, p.b.link(t, alpha)}} {
			d.s.with(d.peer, func(l *testLane) {
				if l.profile != want || l.early {
					t.Errorf("%s was told %+v, early %v", d.s.self, l.profile, l.early)
				}
			})
			if l := d.link; l.State != Up || l.Profile == nil || *l.Profile != want {
				t.Errorf("%s shows %+v", d.s.self, l)
			}
		}
	})
}

// A record that the profile does not admit waits, shown, with those behind it; when the profile grows it goes.
func TestRecordBeyondTheProfileWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		low := federation.BuildCeiling(1000)
		a, b := newStore(alpha, beta), newStore(beta, alpha)
		p := &pair{n, start(t, n, a, a), startWith(t, n, b, low)}
		defer func() { p.stop() }()
		p.a.send(beta, 3)
		a.with(beta, func(l *testLane) {
			a.acceptLocked(l, beta, fmt.Appendf(nil, `{"payload":%q}`, bytes.Repeat([]byte("x"), 2000)))
		})
		p.a.send(beta, 3)
		await(10*time.Second, func() bool { return false })
		if l := p.a.link(t, beta); l.State != Up || l.Held != 4 {
			t.Errorf("%+v", l)
		}
		if got := b.LaneIn(alpha).Seq; got != 3 {
			t.Errorf("%d records crossed", got)
		}
		p.b.stop()
		p.b = start(t, n, b, b)
		if !await(time.Minute, p.settled) {
			t.Error("not settled under a profile that admits all")
		}
		if l := p.a.link(t, beta); l.Held != 0 {
			t.Errorf("%+v", l)
		}
		p.verify(t)
	})
}

// No frame is larger than the peer takes, however small that is.
func TestFramesKeepToTheProfile(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		const most = 1500
		b.send(alpha, 500)
		if f := h.dial(func(hello *frame.Hello) { hello.Offer.MaxFrameBytes = most }); f.Type != wire.LinkHello {
			t.Fatalf("answered %q", f.Type)
		}
		for got := 0; got < 500; {
			f := h.next()
			if f.Type != wire.LinkRecords {
				continue
			}
			rs, err := frame.ParseRecords(f)
			if err != nil || len(f.Payload) > most {
				t.Fatalf("frame of %d bytes, %v", len(f.Payload), err)
			}
			got += len(rs.Items)
			h.write((&frame.Ack{Seq: uint64(got)}).Append(nil))
		}
	})
}

// Two sides that differ keep the link for control frames: both show it, nothing of a lane crosses, and a peer that sends
// records all the same is cut off.
func TestProfileMismatch(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		h.silent = true
		b.send(alpha, 5)
		h.dial(nil)
		h.write((&frame.Profile{Digest: [32]byte{1}}).Append(nil))
		for range 20 {
			beat := frame.Beat{TimeUS: 1}
			h.write(beat.Append(nil))
			time.Sleep(beatTime)
		}
		l := b.link(t, alpha)
		if l.State != Limited || l.LastReason != wire.ReasonProfileMismatch || l.InFlight != 0 {
			t.Errorf("%+v", l)
		}
		h.write(frameOf(1, good(1)))
		if why := h.bye(); why != wire.ReasonLinkProtocol {
			t.Errorf("records on a limited link: %q", why)
		}
		if got := b.LaneIn(alpha).Seq; got != 0 {
			t.Errorf("%d records were taken", got)
		}
	})
}

func TestProfileOutOfOrder(t *testing.T) {
	profile := frame.Profile{Digest: federation.Admit(1, federation.BuildCeiling(wire.DefaultMaxBytes), federation.BuildCeiling(wire.DefaultMaxBytes)).Digest()}
	for name, c := range map[string]struct {
		silent bool
		bytes  []byte
	}{
		"records before it": {true, frameOf(1, good(1))},
		"twice":             {false, profile.Append(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			withHostile(t, func(h *hostile, b *node) {
				h.silent = c.silent
				h.dial(nil)
				h.write(c.bytes)
				if why := h.bye(); why != wire.ReasonLinkProtocol {
					t.Errorf("ended with %q", why)
				}
			})
		})
	}
}

// A core that cannot note the profile ends the link before a record leaves.
func TestProfileThatCannotBeNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, b := newStore(alpha, beta), newStore(beta, alpha)
		p := &pair{n, start(t, n, a, broken{a}), start(t, n, b, b)}
		defer p.stop()
		p.a.send(beta, 5)
		await(10*time.Second, func() bool { return false })
		if l := p.a.link(t, beta); l.LastReason != wire.ReasonJournalFailed || b.LaneIn(alpha).Seq != 0 {
			t.Errorf("%+v", l)
		}
	})
}

type broken struct{ *store }

func (broken) ProfileAgreed(context.Context, wire.HubID, federation.Profile) error {
	return &hub.Error{Reason: wire.ReasonJournalFailed, Text: "the disk is gone"}
}
