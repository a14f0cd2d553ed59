package player

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/process"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := process.Clean(); err != nil {
			code = 1
		}
		os.Exit(code)
	}))
}

// playFake plays a scenario against a fake hub that follows script.
func playFake(t *testing.T, s *Scenario, script []Entry, patience time.Duration) error {
	t.Helper()
	skipTo := 0
	return Play(t.Context(), s, Options{
		Patience: patience,
		Start: func(_ context.Context, want Hub) (*Running, error) {
			entries, skipped := script[skipTo:], 0
			for label := range s.Again {
				if i := slices.IndexFunc(script, func(e Entry) bool { return e.Conn == label }); s.Again[label] == want {
					entries, skipTo = script[i:], i
					if s.Silent[label] {
						skipped = 1
					}
				}
			}
			h := startFake(entries, skipped)
			return &Running{
				URL: "ws" + strings.TrimPrefix(h.server.URL, "http"), Token: "ours",
				Terminate: func(context.Context) error { close(h.term); return nil },
				Stop:      h.stop,
			}, nil
		},
	})
}

func scenarios(t *testing.T) []Scenario {
	t.Helper()
	all, err := Captured()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 16 {
		t.Fatalf("%d captured scenarios, want 16", len(all))
	}
	return all
}

// TestCaptured holds that the player accepts a hub that does what the captures say, with its own volatile values.
func TestCaptured(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			if err := playFake(t, &s, s.Entries, 10*time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// planted is a way in which a hub may differ from the capture.
type planted struct {
	name  string
	plant func(script []Entry) []Entry // nil when the script gives no occasion
}

func atFrame(match func(f map[string]any) bool, change func(f map[string]any)) func([]Entry) []Entry {
	return func(script []Entry) []Entry {
		script = slices.Clone(script)
		for i := range script {
			var f map[string]any
			if script[i].Dir != toClient || script[i].Frame == nil || wire.Unmarshal(script[i].Frame, &f) != nil || !match(f) {
				continue
			}
			change(f)
			text, err := wire.Marshal(f)
			if err != nil {
				return nil
			}
			script[i].Frame = text
			return script
		}
		return nil
	}
}

func hasType(kind wire.FrameType) func(map[string]any) bool {
	return func(f map[string]any) bool { return f["type"] == string(kind) }
}

var differences = []planted{
	{"a wrong member", atFrame(hasType(wire.TypeChat), func(f map[string]any) { f["target"] = "agent-z" })},
	{"a wrong nested value", atFrame(hasType(wire.TypeWhoSnapshot), func(f map[string]any) {
		f["mailbox_pending"].(map[string]any)["agent-a"] = 5.0
	})},
	{"a member missing", atFrame(hasType(wire.TypeChat), func(f map[string]any) { delete(f, "msg_id") })},
	{"a member too many", atFrame(hasType(wire.TypePresenceUpdate), func(f map[string]any) { f["mood"] = "good" })},
	{"a member of another kind", atFrame(hasType(wire.TypeWelcome), func(f map[string]any) { f["timestamp"] = "noon" })},
	{"a list in another order", atFrame(func(f map[string]any) bool {
		list, _ := f["online_agents"].([]any)
		return len(list) > 1
	}, func(f map[string]any) { slices.Reverse(f["online_agents"].([]any)) })},
	{"a blank sentence", atFrame(hasType(wire.TypeWelcome), func(f map[string]any) { f["payload"] = " " })},
	{"another of the words that clients match", atFrame(func(f map[string]any) bool {
		return f["type"] == "error" && f["payload"] == "Malformed JSON."
	}, func(f map[string]any) { f["payload"] = "Malformed JSON!" })},
	{"a seq that goes back", func(script []Entry) []Entry {
		seen := 0
		return atFrame(func(f map[string]any) bool {
			if f["seq"] != nil && f["seq"] != 1.0 {
				seen++
			}
			return seen > 0 && f["seq"] != nil
		}, func(f map[string]any) { f["seq"] = 0.0 })(script)
	}},
	{"two seqs for one chat", func(script []Entry) []Entry {
		copies := 0
		return atFrame(func(f map[string]any) bool {
			if f["seq"] == 1.0 {
				copies++
			}
			return copies == 2
		}, func(f map[string]any) { f["seq"] = 2.0 })(script)
	}},
	{"a frame missing", dropFrame},
	{"a frame too many", repeatFrame},
	{"a frame too many that comes late", repeatLate},
	{"two frames of one connection in the other order", swapFrames},
	{"another close code", changeClose(func(c *Close) { c.Code = 4001 })},
	{"another close reason", changeClose(func(c *Close) { c.Reason = "because" })},
}

func dropFrame(script []Entry) []Entry {
	for i := len(script) - 1; i >= 0; i-- {
		if script[i].Dir == toClient && script[i].Frame != nil {
			return slices.Delete(slices.Clone(script), i, i+1)
		}
	}
	return nil
}

// repeatFrame repeats the last frame of the file to a connection that stays open.
func repeatFrame(script []Entry) []Entry {
	if i := lastToOpen(script); i >= 0 {
		return slices.Insert(slices.Clone(script), i+1, script[i])
	}
	return nil
}

// repeatLate repeats it at the last moment.
func repeatLate(script []Entry) []Entry {
	if i := lastToOpen(script); i >= 0 {
		return append(slices.Clone(script), Entry{Note: noteLate, Conn: script[i].Conn, Frame: script[i].Frame})
	}
	return nil
}

// lastToOpen is the last frame to a bound connection that stays open, -1 without one.
func lastToOpen(script []Entry) int {
	closed := map[string]bool{}
	for i, e := range slices.Backward(script) {
		closed[e.Conn] = closed[e.Conn] || e.Close != nil
		if e.Dir == toClient && e.Frame != nil && !closed[e.Conn] && binds(e.Frame) {
			return i
		}
	}
	return -1
}

func swapFrames(script []Entry) []Entry {
	for i := 1; i < len(script); i++ {
		a, b := script[i-1], script[i]
		if a.Dir == toClient && b.Dir == toClient && a.Conn == b.Conn && a.Frame != nil && b.Frame != nil {
			script = slices.Clone(script)
			script[i-1], script[i] = b, a
			return script
		}
	}
	return nil
}

func changeClose(change func(*Close)) func([]Entry) []Entry {
	return func(script []Entry) []Entry {
		for i := range script {
			if script[i].Dir == toClient && script[i].Close != nil && script[i].Close.Reason != anyText {
				script = slices.Clone(script)
				other := *script[i].Close
				change(&other)
				script[i].Close = &other
				return script
			}
		}
		return nil
	}
}

// TestDifferencesAreFound plants each difference in every file that gives an occasion; at least one file must.
func TestDifferencesAreFound(t *testing.T) {
	all := scenarios(t)
	for _, d := range differences {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel() // a missing frame is found by waiting
			played := 0
			for _, s := range all {
				script := d.plant(s.Entries)
				if script == nil || len(s.Again) > 0 {
					continue
				}
				played++
				err := playFake(t, &s, script, 300*time.Millisecond)
				if err == nil {
					t.Errorf("%s: not found", s.Name)
				} else if testing.Verbose() {
					t.Log(strings.SplitN(err.Error(), "\n", 2)[0])
				}
			}
			if played == 0 {
				t.Error("no file gives an occasion")
			}
		})
	}
}

var badScenarios = []string{
	`{}`, `[{}]`, `[{"note":"x","conn":"a"}]`, `[{"dir":"c2h","frame":{}}]`, `[{"dir":"up","conn":"a","frame":{}}]`,
	`[{"dir":"h2c","conn":"a","raw":"x"}]`, `[{"dir":"c2h","conn":"a","raw":"x","frame":{}}]`, `[{"dir":"c2h","conn":"a","colour":1}]`,
}

func TestBadScenarioFilesAreRefused(t *testing.T) {
	for _, text := range badScenarios {
		if _, err := ParseEntries([]byte(text)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

func TestAHubThatDoesNotStart(t *testing.T) {
	no := errors.New("no hub today")
	err := Play(t.Context(), &Scenario{Name: "x"}, Options{Start: func(context.Context, Hub) (*Running, error) { return nil, no }})
	if !errors.Is(err, no) {
		t.Errorf("Play said %v", err)
	}
}
