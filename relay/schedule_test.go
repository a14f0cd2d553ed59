package relay

import (
	"testing"
	"time"

	"fleetrelay/hub/wire"
)

func TestScheduleGrowsToItsLongestWait(t *testing.T) {
	s := newSchedule(longWait)
	for round := range 2 {
		nominal := firstWait
		for i := range 20 {
			got := s.after(wire.ReasonLinkLost, false, false)
			if got < nominal*6/10 || got > nominal*14/10 {
				t.Errorf("round %d, wait %d: %v, nominally %v", round, i, got, nominal)
			}
			nominal = min(2*nominal, longWait)
		}
		s.reset()
	}
}

func TestScheduleByReason(t *testing.T) {
	for name, c := range map[string]struct {
		reason         wire.Reason
		remote, yields bool
		least, most    time.Duration
	}{
		"a lost link":               {wire.ReasonLinkLost, false, false, 50 * time.Millisecond, 200 * time.Millisecond},
		"a lost link of the larger": {wire.ReasonLinkLost, false, true, yieldTime, yieldTime},
		"the peer stops":            {wire.ReasonHubShutdown, true, false, politeWait, politeWait},
		"rewound":                   {wire.ReasonRewound, false, false, fencedWait * 8 / 10, fencedWait * 12 / 10},
		"rewound, says the peer":    {wire.ReasonRewound, true, true, fencedWait * 8 / 10, fencedWait * 12 / 10},
		"pin mismatch":              {wire.ReasonPinMismatch, false, false, fencedWait * 8 / 10, fencedWait * 12 / 10},
	} {
		if got := newSchedule(longWait).after(c.reason, c.remote, c.yields); got < c.least || got > c.most {
			t.Errorf("%s: %v, want %v to %v", name, got, c.least, c.most)
		}
	}
}

// The larger id yields the first attempt only: a peer that cannot dial must not keep it waiting three seconds each time.
func TestScheduleYieldsOnce(t *testing.T) {
	s := newSchedule(longWait)
	s.after(wire.ReasonLinkLost, false, true)
	if got := s.after(wire.ReasonLinkLost, false, true); got > time.Second {
		t.Errorf("second wait %v", got)
	}
}

// What repeats is logged once a minute with the number of times, and at once when it changes.
func TestNoise(t *testing.T) {
	var n noise
	at := time.Unix(1000, 0)
	type told struct {
		times int
		tell  bool
	}
	for i, c := range []struct {
		reason wire.Reason
		after  time.Duration
		want   told
	}{
		{wire.ReasonLinkLost, 0, told{1, true}},
		{wire.ReasonLinkLost, time.Second, told{0, false}},
		{wire.ReasonLinkLost, time.Second, told{0, false}},
		{wire.ReasonRewound, time.Second, told{1, true}},
		{wire.ReasonRewound, 59 * time.Second, told{0, false}},
		{wire.ReasonRewound, time.Second, told{2, true}},
	} {
		at = at.Add(c.after)
		times, tell := n.tell(c.reason, at)
		if got := (told{times, tell}); got != c.want {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
}
