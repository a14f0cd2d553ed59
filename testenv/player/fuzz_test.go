package player

import (
	"fmt"
	"testing"

	"fleetrelay/hub/wire"
)

// entriesParser is ParseEntries, or one with a planted bug.
type entriesParser func([]byte) ([]Entry, error)

// entriesFault holds that every entry of a scenario that is read says exactly one thing, of one connection or of none.
func entriesFault(text []byte, parse entriesParser) string {
	entries, err := parse(text)
	if err != nil {
		return ""
	}
	var lines []wire.Raw
	if err := wire.Unmarshal(text, &lines); err != nil || len(lines) != len(entries) {
		return fmt.Sprintf("%d entries of %d, %v", len(entries), len(lines), err)
	}
	for i, e := range entries {
		says := 0
		for _, has := range []bool{len(e.Frame) > 0, e.Raw != "", e.Close != nil, e.Note != ""} {
			if has {
				says++
			}
		}
		if says != 1 || (e.Note != "") != (e.Conn == "") || (e.Note == "") != (e.Dir == toHub || e.Dir == toClient) || e.Raw != "" && e.Dir != toHub {
			return fmt.Sprintf("entry %d says %+v", i, e)
		}
	}
	return ""
}

func entriesSeeds(t testing.TB) [][]byte {
	seeds := [][]byte{
		[]byte(`[{"note":"x"},{"dir":"c2h","conn":"a","raw":"{"},{"dir":"h2c","conn":"a","frame":{"type":"chat"}},{"dir":"h2c","conn":"a","close":{"code":1,"reason":""}}]`),
	}
	for _, text := range badScenarios {
		seeds = append(seeds, []byte(text))
	}
	text, err := captured.ReadFile(capturedDir + "/hub-shutdown.json")
	if err != nil {
		t.Fatal(err)
	}
	return append(seeds, text)
}

func FuzzEntries(f *testing.F) {
	for _, text := range entriesSeeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if fault := entriesFault(text, ParseEntries); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The body above finds planted bugs among its own seeds, and nothing in what ships.
func TestFuzzBodyFindsPlantedBugs(t *testing.T) {
	over := func(parse entriesParser) (faults string) {
		for _, text := range entriesSeeds(t) {
			faults += entriesFault(text, parse)
		}
		return faults
	}
	if faults := over(ParseEntries); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, parse := range map[string]entriesParser{
		"entries are not looked at": func(text []byte) (entries []Entry, err error) { return entries, wire.Unmarshal(text, &entries) },
		"notes are left out": func(text []byte) (kept []Entry, err error) {
			entries, err := ParseEntries(text)
			for _, e := range entries {
				if e.Note == "" {
					kept = append(kept, e)
				}
			}
			return kept, err
		},
	} {
		if over(parse) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
