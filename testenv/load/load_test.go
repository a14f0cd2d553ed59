package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/skeleton"
)

// TestMain is the skeleton's process as well.
func TestMain(m *testing.M) {
	if os.Getenv("LOAD_SKELETON") == "1" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		os.Exit(skeleton.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

func bareSkeleton(hops int) *Skeleton {
	return &Skeleton{Command: []string{os.Args[0]}, Env: []string{"LOAD_SKELETON=1"}, Hops: hops}
}

// TestSkeleton loads the bare pipeline in its own processes with both numbers of hops and all shapes.
func TestSkeleton(t *testing.T) {
	for _, hops := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d hops", hops), func(t *testing.T) {
			c, err := Compare(t.Context(), Options{
				Subject:   &Skeleton{Command: []string{os.Args[0]}, Env: []string{"LOAD_SKELETON=1"}, Hops: hops, Batched: true},
				Yardstick: bareSkeleton(hops), Pairs: 1, Length: Length{Messages: 500}, Dir: t.TempDir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := c.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			line, err := wire.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", text.String())
			if len(c.Rows) != 3 || strings.Count(text.String(), "\n") != 7 || !strings.Contains(string(line), `"throughput_ratio"`) {
				t.Errorf("table:\n%s%s", text.String(), string(line))
			}
			for _, row := range c.Rows {
				if s := row.Subject[0]; s.Messages < 500 || s.PerS <= 0 || s.P50MS <= 0 || s.P99MS < s.P50MS || row.Ratio.Median <= 0 {
					t.Errorf("%s: %+v", row.Shape, row)
				}
			}
		})
	}
}

// TestALostMessageIsNoMeasurement holds that the generator does not report figures of a hub that swallows messages: the
// reader listens at another hub than the one it is sent to.
func TestALostMessageIsNoMeasurement(t *testing.T) {
	a, b := bareSkeleton(1), bareSkeleton(1)
	for _, s := range []*Skeleton{a, b} {
		t.Cleanup(func() {
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	ta, err := a.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tb, err := b.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	ta.Reader = tb.Reader
	if m, err := Generate(ctx, ta, Shape{Senders: 1, Window: 1}, Length{Messages: 10}, nil, nil); err == nil {
		t.Errorf("measured %+v", m)
	}
}

// broken is a subject that does not start.
type broken struct{ Skeleton }

func (broken) Name() string                                  { return "broken" }
func (broken) Start(context.Context, string) (Target, error) { return Target{}, errBroken }

var errBroken = errors.New("out of order")

func TestAFailedMeasurementIsMarked(t *testing.T) {
	c, err := Compare(t.Context(), Options{
		Subject: &broken{}, Yardstick: bareSkeleton(1), Shapes: Shapes()[:1], Pairs: 1, Length: Length{Messages: 50}, Dir: t.TempDir(),
	})
	if !errors.Is(err, errBroken) {
		t.Fatalf("Compare said %v", err)
	}
	row := c.Rows[0]
	if row.Subject[0].Failed == "" || row.Yardstick[0].Failed != "" || row.Yardstick[0].PerS <= 0 || row.Ratio != (Spread{}) {
		t.Errorf("row %+v", row)
	}
	var text bytes.Buffer
	if err := c.WriteText(&text); err != nil {
		t.Error(err)
	}
	if !strings.Contains(text.String(), "broken  failed") || !strings.Contains(text.String(), "skeleton") {
		t.Errorf("table:\n%s", text.String())
	}
}

// TestWhatWasMeasuredSurvivesAnEnd holds that an interrupt loses no whole pair and that half a pair is in no table.
func TestWhatWasMeasuredSurvivesAnEnd(t *testing.T) {
	for pairs := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		samples := 0
		c, err := Compare(ctx, Options{
			Subject: bareSkeleton(1), Yardstick: bareSkeleton(1), Pairs: 3, Length: Length{Messages: 20}, Dir: t.TempDir(),
			Progress: func(string) {
				if samples++; samples == 2*pairs+1 {
					cancel()
				}
			},
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Compare said %v", err)
		}
		if len(c.Rows) != pairs {
			t.Fatalf("%d rows after %d samples", len(c.Rows), samples)
		}
		if pairs > 0 && (len(c.Rows[0].Yardstick) != pairs || len(c.Rows[0].Subject) != pairs || c.Rows[0].Ratio.Median <= 0) {
			t.Errorf("row %+v", c.Rows[0])
		}
	}
}

func TestFrames(t *testing.T) {
	frame := fill([]byte(`{"client_msg_id":"7.`), 31, 123456, 400)
	if len(frame) != 400 {
		t.Errorf("%d bytes, want 400", len(frame))
	}
	if from, place, ok := idOf(frame); from != 7 || place != 31 || !ok {
		t.Errorf("idOf: %d, %d, %v", from, place, ok)
	}
	for _, text := range []string{``, `{"client_msg_id":"x"}`, `{"client_msg_id":"7"}`, `{"client_msg_id":"7.`, `{"client_msg_id":"7.x"}`} {
		if _, _, ok := idOf([]byte(text)); ok {
			t.Errorf("idOf(%s) found one", text)
		}
	}
	if n, ok := numberAfter([]byte(`{"a":1,"seq":42}`), []byte(`"seq":`)); n != 42 || !ok {
		t.Errorf("numberAfter: %d, %v", n, ok)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		h.add(time.Duration(rng.Int64N(int64(10 * time.Millisecond))))
	}
	for _, q := range []float64{0.01, 0.5, 0.99} {
		want := q * 10
		if got := ms(h.quantile(q)); got < want*0.94 || got > want*1.06 {
			t.Errorf("quantile %v is %v ms, want about %v", q, got, want)
		}
	}
	for ns := uint64(1); ns < 1<<60; ns = ns*5/4 + 1 {
		b := bucketOf(ns)
		if low, next := lower(b), lower(b+1); uint64(low) > ns || uint64(next) <= ns {
			t.Fatalf("%d ns is in the bucket from %d to %d", ns, low, next)
		}
	}
}

// TestTally holds that a frame too early is seen, by the hub's clock and whatever was told before counting began.
func TestTally(t *testing.T) {
	for _, c := range []struct {
		name         string
		at           []int64 // milliseconds
		frames, most int
		closest      int64
	}{
		{"once a second", []int64{5000, 6000, 6999}, 3, 1, 999},
		{"within the slack of the hub's clock", []int64{5000, 5950}, 2, 1, 950},
		{"too early", []int64{5000, 6000, 6949}, 3, 2, 949},
		{"three at once", []int64{5000, 5100, 5200, 7000}, 4, 3, 100},
		{"before counting began", []int64{3000, 3001, 4000, 4500, 5500}, 2, 1, 1000},
	} {
		tally := tally{after: 4_000_000}
		for _, ms := range c.at {
			tally.note(presenceFrame(ms * 1000))
		}
		tally.note([]byte(`{"type":"chat","payload":"\"type\":\"presence_update\""}`))
		if tally.frames != c.frames || tally.most != c.most || tally.closest != c.closest*1000 {
			t.Errorf("%s: %d frames, most %d, closest %d", c.name, tally.frames, tally.most, tally.closest)
		}
	}
}

func presenceFrame(us int64) []byte {
	return (&wire.PresenceUpdate{HubID: "hub.example", TimeUS: us, OnlineAgents: []string{"a/one"}, Event: wire.PresenceJoined, Agent: "a/one"}).Append(nil)
}

func TestEnoughFiles(t *testing.T) {
	if err := enoughFiles(1000, 1000+spareFiles); err != nil {
		t.Error(err)
	}
	if err := enoughFiles(1000, 1000); !errors.Is(err, ErrTooFewFiles) {
		t.Errorf("1000 agents fit into 1000 files: %v", err)
	}
}

func TestUsage(t *testing.T) {
	u := UsageOf([]int{os.Getpid()})
	if _, err := os.Stat("/proc/self/stat"); err == nil && u.RSS < 1<<20 {
		t.Errorf("this process uses %+v", u)
	}
	if rate, err := SyncRate(t.TempDir(), 20*time.Millisecond); err != nil || rate <= 0 {
		t.Errorf("SyncRate: %v, %v", rate, err)
	}
}

// TestLengthCountsReceipts: a measurement of so many messages with receipts ends when the last of these was told, however
// late receipts come.
func TestLengthCountsReceipts(t *testing.T) {
	for _, asks := range []bool{false, true} {
		g := &generator{asks: asks, limit: 2, reached: make(chan struct{}), more: make(chan struct{}, 1)}
		g.begun.Store(true)
		s := &sender{free: make(chan int, 2), slots: make([]slot, 2)}
		over := func() bool {
			select {
			case <-g.reached:
				return true
			default:
				return false
			}
		}
		for place := range s.slots {
			g.part(s, place, partCopy)
			g.part(s, place, partRead)
		}
		if over() == asks {
			t.Errorf("with receipts %v: over %v after both messages", asks, !asks)
		}
		for range s.slots {
			g.answered(s, 0, []byte(`{"type":"delivery_receipt","delivered":true}`))
		}
		if !over() || g.count() != 2 {
			t.Errorf("with receipts %v: over %v with %d counted", asks, over(), g.count())
		}
	}
}
