package relay

import (
	"fmt"
	"testing"
	"time"

	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"

	"github.com/google/go-cmp/cmp"
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
		"rewound":                   {wire.ReasonRewound, false, false, firstRefusedWait * 8 / 10, firstRefusedWait * 12 / 10},
		"rewound, says the peer":    {wire.ReasonRewound, true, true, firstRefusedWait * 8 / 10, firstRefusedWait * 12 / 10},
		"a later word":              {"later_word", true, true, firstRefusedWait * 8 / 10, firstRefusedWait * 12 / 10},
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

// 1, 2, 4 … 300 s, give or take a fifth, for ever.
func TestRefusedWaits(t *testing.T) {
	least := func(time.Duration) time.Duration { return 0 }
	most := func(d time.Duration) time.Duration { return d - 1 }
	for n, want := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 4: 8, 8: 128, 9: 256, 10: 300, 11: 300, 63: 300, 64: 300, 1 << 20: 300} {
		want *= time.Second
		if got := refusedWait(n, least); got != want*4/5 {
			t.Errorf("wait %d is at least %v", n, got)
		}
		if got := refusedWait(n, most); got != min(want*6/5-1, longRefusedWait) {
			t.Errorf("wait %d is at most %v", n, got)
		}
	}
}

// Each reason is logged once a minute with the number of times, however a peer varies them.
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
		{wire.ReasonLinkLost, 0, told{3, true}},
		{wire.ReasonRewound, 0, told{0, false}},
		{wire.ReasonLinkLost, 0, told{0, false}},
	} {
		at = at.Add(c.after)
		times, tell := n.tell(c.reason, at)
		if got := (told{times, tell}); got != c.want {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
}

// A peer that says goodbye with a new word each time fills neither the log nor the memory.
func TestNoiseOfManyWords(t *testing.T) {
	var n noise
	lines := 0
	for i := range 10_000 {
		if _, tell := n.tell(wire.Reason(fmt.Sprint("word_", i)), time.Unix(1000, 0)); tell {
			lines++
		}
	}
	if lines != maxNoise+1 || len(n.rows) != maxNoise+1 {
		t.Errorf("%d lines, %d rows", lines, len(n.rows))
	}
	times, tell := n.tell("word_0", time.Unix(1000, 0).Add(quietTime))
	if times != 1 || !tell {
		t.Errorf("told %d times, %v", times, tell)
	}
}

// The goodbye of a peer stays the peer's however often the error is judged.
func TestGoodbyeStaysRemote(t *testing.T) {
	bye := &byeError{wire.ReasonHubShutdown}
	if got := lostOr(lostOr(bye)); got != error(bye) {
		t.Errorf("%#v", got)
	}
}

// A refusal that comes behind the ack that covers it is dropped, also when the two wait together.
func TestGatherDropsLateRefusals(t *testing.T) {
	l := &link{settles: make(chan frame.Ack, settleDepth)}
	refused := func(seqs ...uint64) (list []frame.Refused) {
		for _, seq := range seqs {
			list = append(list, frame.Refused{Seq: seq, Reason: wire.ReasonNotPermitted})
		}
		return list
	}
	l.settles <- frame.Ack{Seq: 8, Refused: refused(2, 5, 6)}
	l.settles <- frame.Ack{Seq: 8, Refused: refused(8)}
	l.settles <- frame.Ack{Seq: 9, Refused: refused(9)}
	seq, got := l.gather(frame.Ack{Seq: 5, Refused: refused(2, 3)})
	var seqs []uint64
	for _, r := range got {
		seqs = append(seqs, r.Seq)
	}
	if diff := cmp.Diff([]uint64{2, 3, 6, 9}, seqs); diff != "" || seq != 9 {
		t.Errorf("up to %d (-want +got):\n%s", seq, diff)
	}
}
