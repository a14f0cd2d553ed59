package relay

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"

	"pgregory.net/rapid"
)

// A peer that goes silent, though its connection stays open, is noticed after silenceTime, and one that is only idle
// never.
func TestSilenceEndsALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPair(t, newNetwork(), newStore(alpha, beta), newStore(beta, alpha))
		defer p.stop()
		await(time.Minute, func() bool { return p.b.link(t, alpha).State == Up })
		await(time.Hour, func() bool { return false })
		if l := p.b.link(t, alpha); l.State != Up || l.Generation != 1 {
			t.Fatalf("an idle link: %+v", l)
		}
		p.a.relay.owner(beta).live.Load().conn.(*memConn).vanish()
		began := time.Now()
		if !await(time.Minute, func() bool { return p.b.link(t, alpha).State != Up }) {
			t.Fatal("not noticed")
		}
		if took := time.Since(began); took < silenceTime-beatTime || took > silenceTime+20*time.Millisecond {
			t.Errorf("noticed after %v", took)
		}
		if l := p.b.link(t, alpha); l.LastReason != wire.ReasonLinkLost || l.Remote {
			t.Errorf("%+v", l)
		}
	})
}

// A core that keeps the link waiting does not make it look dead.
func TestBusyIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPair(t, newNetwork(), newStore(alpha, beta), newStoreOf(beta, time.Minute, 2, alpha))
		defer p.stop()
		p.a.send(beta, 3*WindowRecords)
		await(time.Minute, func() bool { return p.b.link(t, alpha).State == Up })
		await(30*time.Second, func() bool { return false })
		if l := p.a.link(t, beta); l.State != Up || l.Generation != 1 || l.InFlight == 0 {
			t.Errorf("%+v", l)
		}
	})
}

// Both ends know how far apart their clocks are, whichever is ahead, and whoever dialled.
func TestBeatsMeasureTheClocks(t *testing.T) {
	for _, ahead := range []time.Duration{0, 5 * time.Second, -3 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork()
			a, b := newStore(alpha, beta), newStore(beta, alpha)
			p := &pair{n, start(t, n, a, a), startOptions(t, Options{
				Core: b, Transport: memTransport{n, beta}, Now: func() time.Time { return time.Now().Add(ahead) },
			}, b)}
			defer p.stop()
			await(3*time.Second, func() bool { return false })
			la, lb := p.a.link(t, beta), p.b.link(t, alpha)
			if la.ClockOffset.Round(time.Millisecond) != ahead || lb.ClockOffset.Round(time.Millisecond) != -ahead {
				t.Errorf("%v ahead: %v and %v", ahead, la.ClockOffset, lb.ClockOffset)
			}
		})
	}
}

// exchange is one beat of each side over a path with these delays, the peer's clock ahead by offset; it returns what the
// first side measured.
func exchange(there, held, back, offset time.Duration) (sample, bool) {
	ours, theirs := newPulse(), newPulse()
	b := ours.next(time.Now())
	time.Sleep(there)
	theirs.take(b, time.Now().Add(offset))
	time.Sleep(held)
	b = theirs.next(time.Now().Add(offset))
	time.Sleep(back)
	ours.take(b, time.Now())
	return ours.measured()
}

// The round trip is exact, and the offset wrong by no more than half of it.
func TestMeasurement(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delay := rapid.Int64Range(0, int64(2*time.Second))
		there, held, back := time.Duration(delay.Draw(rt, "there")), time.Duration(delay.Draw(rt, "held")), time.Duration(delay.Draw(rt, "back"))
		offset := time.Duration(rapid.Int64Range(-int64(24*time.Hour), int64(24*time.Hour)).Draw(rt, "offset"))
		synctest.Test(t, func(*testing.T) {
			got, ok := exchange(there, held, back, offset)
			const grain = 4 * time.Microsecond
			if wrong := (got.rtt - there - back).Abs(); !ok || wrong > grain {
				rt.Fatalf("round trip %v of %v, %v", got.rtt, there+back, ok)
			}
			if wrong := (got.offset - offset).Abs(); wrong > got.rtt/2+grain {
				rt.Fatalf("offset %v of %v", got.offset, offset)
			}
		})
	})
}

// What a peer makes up measures nothing.
func TestInventedEchoes(t *testing.T) {
	for name, b := range map[string]frame.Beat{
		"never sent":          {TimeUS: 1796063246832343, EchoUS: 1796063246832343},
		"held for too long":   {TimeUS: 1796063246832343, HeldUS: 1<<53 - 1},
		"no clock":            {},
		"an echo of no clock": {TimeUS: 1796063246832343},
	} {
		p := newPulse()
		sent := p.next(time.Now())
		if b.HeldUS > 0 {
			b.EchoUS = sent.TimeUS
		}
		p.take(b, time.Now())
		if got, ok := p.measured(); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The best of the latest samples counts, and an old one does not count for ever.
func TestBestSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPulse()
		for i := range 3 * samples {
			b := p.next(time.Now())
			rtt := time.Duration(10+i%3) * time.Millisecond
			if i == 0 {
				rtt = time.Millisecond
			}
			time.Sleep(rtt)
			p.take(frame.Beat{TimeUS: b.TimeUS, EchoUS: b.TimeUS}, time.Now())
			want := 10 * time.Millisecond
			if i < samples {
				want = time.Millisecond
			}
			if got, ok := p.measured(); !ok || got.rtt != want {
				t.Fatalf("sample %d: %v, want %v", i, fmt.Sprint(got), want)
			}
		}
	})
}
