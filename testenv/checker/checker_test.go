package checker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// everyday is a history with every ordinary thing in it: local and remote messages, receipts, a copy lost with its
// connection and the message sent again, a chat that is withdrawn, a refusal at the far hub, a broadcast.
func everyday() *world {
	w := newWorld()
	a, b := w.app("hub-a", "p/s0"), w.app("hub-b", "p/s1")
	w.send(a, "p/s1", "l1", "local one", true, false)
	w.send(a, "p/s1", "l2", "local two", false, false)
	w.send(a, "p/s1@hub-b", "r1", "remote one", true, false)
	w.send(a, "p/s1@hub-b", "r2", "remote two", true, true)
	w.send(a, "p/s1@hub-b", "r2", "remote two", true, false)
	w.send(a, "p/s1@hub-b", "r3", "remote three", false, false)
	for w.cross("hub-a", "hub-b", false) || w.cross("hub-b", "hub-a", false) {
	}
	w.send(a, "p/s1@hub-b", "r4", "too late", true, false)
	w.withdraw("hub-a", "hub-b")
	w.send(a, "all", "b1", "to everybody", false, false)
	w.send(b, "p/s0@hub-a", "r1", "back", true, false)
	w.send(b, "p/s0@hub-a", "r2", "refused there", false, false)
	w.cross("hub-b", "hub-a", false)
	w.cross("hub-b", "hub-a", true)
	w.drain()
	return w
}

func TestCorrectHistoryPasses(t *testing.T) {
	r := everyday().check(t, t.TempDir())
	if !r.OK() {
		t.Fatal(text(t, r))
	}
	want := Totals{Clients: 4, Sent: 9, Sends: 10, Accepted: 9, Refused: 2, Delivered: 6, Receipts: 9, Hubs: 2}
	want.Events, want.Records = r.Totals.Events, 15
	if r.Totals != want {
		t.Errorf("totals %+v, want %+v", r.Totals, want)
	}
}

func TestEveryFaultIsFound(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			w := everyday()
			if !f.damage(w) {
				t.Fatal("the history gives no occasion for this fault")
			}
			if r := w.check(t, t.TempDir()); r.Counts[f.word] == 0 || r.OK() {
				t.Errorf("not found as %s:\n%s", f.word, text(t, r))
			}
		})
	}
}

func text(t testing.TB, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// drawWorld makes a correct history by random steps.
func drawWorld(rt *rapid.T) *world {
	w := newWorld()
	var sent []func()
	for range rapid.IntRange(5, 60).Draw(rt, "steps") {
		a := rapid.SampledFrom(w.apps).Draw(rt, "app")
		switch rapid.SampledFrom([]string{"send", "send", "send", "again", "cross", "withdraw", "read"}).Draw(rt, "step") {
		case "send":
			to := rapid.SampledFrom(w.apps).Draw(rt, "to")
			target := to.name
			if to.hub != a.hub {
				target += "@" + to.hub
			}
			a.next++
			id, body := fmt.Sprintf("m%d", a.next), fmt.Sprintf("text %d of %s", a.next, a.name)
			receipt := rapid.Bool().Draw(rt, "receipt") && to != a
			w.send(a, target, id, body, receipt, rapid.Bool().Draw(rt, "copy lost"))
			sent = append(sent, func() { w.send(a, target, id, body, receipt, false) })
		case "again":
			if len(sent) > 0 {
				rapid.SampledFrom(sent).Draw(rt, "which")()
			}
		case "cross":
			w.cross("hub-a", "hub-b", false)
			w.cross("hub-b", "hub-a", false)
		case "withdraw":
			if a == w.apps[0] {
				w.withdraw("hub-a", "hub-b")
			}
		case "read":
			w.read(a)
		}
	}
	w.drain()
	return w
}

func TestRandomHistories(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		r := w.check(t, dir)
		if told := r.Totals.Accepted > 0; r.OK() != told {
			rt.Fatal(text(t, r))
		}
		f := rapid.SampledFrom(faults).Draw(rt, "fault")
		if !f.damage(w) {
			return
		}
		if r := w.check(t, dir); r.Counts[f.word] == 0 {
			rt.Fatalf("%s was not found as %s:\n%s", f.name, f.word, text(t, r))
		}
	})
}

// TestALossIsCountedOnce holds that a message lost between the hubs is one finding, though two rules see it and it was sent twice.
func TestALossIsCountedOnce(t *testing.T) {
	w := newWorld()
	a := w.app("hub-a", "p/s0")
	w.send(a, "p/s1@hub-b", "r1", "gone", false, false)
	w.send(a, "p/s1@hub-b", "r1", "gone", false, false)
	w.send(a, "p/s1@hub-b", "r2", "gone too", false, false)
	if r := w.check(t, t.TempDir()); r.Counts[AcceptedLost] != 2 {
		t.Errorf("%d losses, want 2:\n%s", r.Counts[AcceptedLost], text(t, r))
	}
}

func TestMissingEvidenceIsNotOK(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, in *Input){
		"no client logs":    func(t *testing.T, in *Input) { in.ClientsDir = t.TempDir() },
		"no such folder":    func(t *testing.T, in *Input) { in.ClientsDir += "/absent" },
		"one export absent": func(t *testing.T, in *Input) { in.Exports = in.Exports[:1] },
		"no such export":    func(t *testing.T, in *Input) { in.Exports[0] += ".absent" },
		"one export twice":  func(t *testing.T, in *Input) { in.Exports[1] = in.Exports[0] },
		"a gap in an export": func(t *testing.T, in *Input) {
			cutLine(t, in.Exports[0], 3)
		},
		"a torn export": func(t *testing.T, in *Input) { cutBytes(t, in.Exports[0], 5) },
		"an unreadable line in a client log": func(t *testing.T, in *Input) {
			appendText(t, filepath.Join(in.ClientsDir, "00.jsonl"), "{\"kind\":7}\n")
		},
		"an entry of an unknown kind": func(t *testing.T, in *Input) {
			appendText(t, filepath.Join(in.ClientsDir, "00.jsonl"), "{\"kind\":\"dreamt\",\"who\":\"p/s0\",\"hub\":\"hub-a\"}\n")
		},
		"fewer messages than expected": func(t *testing.T, in *Input) { in.MinAccepted = 10 },
	} {
		t.Run(name, func(t *testing.T) {
			in := everyday().write(t, t.TempDir())
			damage(t, &in)
			if r := Check(in); r.OK() || len(r.Incomplete) == 0 {
				t.Errorf("passed:\n%s", text(t, r))
			}
		})
	}
}

func TestTornLastLineOfAClientLogIsAllowed(t *testing.T) {
	in := everyday().write(t, t.TempDir())
	appendText(t, filepath.Join(in.ClientsDir, "00.jsonl"), `{"kind":"sent","who":"p`)
	if r := Check(in); !r.OK() {
		t.Error(text(t, r))
	}
}

func appendText(t *testing.T, path, more string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(old, more...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func cutLine(t *testing.T, path string, number int) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(old, []byte("\n"))
	lines[number] = nil
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

func cutBytes(t *testing.T, path string, n int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-n); err != nil {
		t.Fatal(err)
	}
}

func TestMain_(t *testing.T) {
	w := everyday()
	in := w.write(t, t.TempDir())
	args := []string{"--clients", in.ClientsDir, "--export", in.Exports[0], "--export", in.Exports[1], "--json"}
	var out, diag bytes.Buffer
	if code := Main(args, &out, &diag); code != 0 {
		t.Fatalf("exit %d: %s%s", code, out.String(), diag.String())
	}
	r, err := ParseReport(bytes.TrimSpace(out.Bytes()))
	if err != nil || !r.OK() || r.Totals.Sent != 9 {
		t.Errorf("report %+v, %v", r, err)
	}
	w.dropLaneRecord()
	in = w.write(t, t.TempDir())
	out.Reset()
	if code := Main([]string{"--clients", in.ClientsDir, "--export", in.Exports[0], "--export", in.Exports[1]}, &out, &diag); code != 1 {
		t.Errorf("a lost message: exit %d", code)
	}
	if !strings.Contains(out.String(), "accepted_lost: from=") || !strings.Contains(out.String(), "verdict: NOT OK") {
		t.Errorf("a person reads:\n%s", out.String())
	}
	for _, bad := range [][]string{nil, {"--clients", "x"}, {"--export", "x"}, append(args, "more"), {"--nonsense"}} {
		if code := Main(bad, &out, &diag); code != 2 {
			t.Errorf("Main(%q): exit %d, want 2", bad, code)
		}
	}
}

// TestManyMessages holds that the size of a crash run is judged in seconds, whatever the machine.
func TestManyMessages(t *testing.T) {
	w := newWorld()
	for i := range 20_000 {
		a, b := w.apps[i%2], w.apps[2+i%2]
		if i%4 > 1 {
			a, b = b, a
		}
		w.send(a, b.name+"@"+b.hub, fmt.Sprintf("m%d", i), fmt.Sprintf("text %d", i), false, i%100 == 0)
	}
	for _, lane := range [][2]string{{"hub-a", "hub-b"}, {"hub-b", "hub-a"}} {
		w.crossAll(lane[0], lane[1])
	}
	for _, a := range w.apps {
		w.read(a)
	}
	in := w.write(t, t.TempDir())
	begin := time.Now()
	r := Check(in)
	if !r.OK() || r.Totals.Delivered != 20_000 {
		t.Fatal(text(t, r))
	}
	t.Logf("%d events and %d sends judged in %v", r.Totals.Events, r.Totals.Sends, time.Since(begin))
}

// crossAll is cross for a whole lane without looking for each record from the beginning.
func (w *world) crossAll(from, to string) {
	src := w.hubs[from]
	for _, e := range append([]*exportLine(nil), src.events...) {
		if e.Kind == kindChatAccepted && e.Record.Dest == to {
			w.crossRecord(src, w.hubs[to], e, false)
		}
	}
}
