package failpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// listParser is Parse, or one with a planted bug.
type listParser func(list string, known []string) ([]Point, error)

// listFault holds that a list that is read names known points only, as many as it has entries, and means the same when it
// is written again.
func listFault(list string, parse listParser) string {
	points, err := parse(list, known)
	if err != nil {
		return ""
	}
	var written []string
	for _, p := range points {
		if !slices.Contains(known, p.Name) || p.Hit == 0 || p.Action != Kill && p.Action != Error {
			return fmt.Sprintf("%q names %+v", list, p)
		}
		written = append(written, p.String())
	}
	if entries := strings.Split(list, ","); len(points) != len(entries) && strings.TrimSpace(list) != "" {
		return fmt.Sprintf("%q is %d points", list, len(points))
	}
	again, err := parse(strings.Join(written, ","), known)
	if err != nil || !slices.Equal(points, again) {
		return fmt.Sprintf("%q is %+v, written again %+v, %v", list, points, again, err)
	}
	return ""
}

func listSeeds() []string {
	return []string{
		"", " ", "journal.apply=kill", "journal.sync:17=error, key.rename=kill", "journal.apply:0=kill", "journal.apply:+1=kill", "journal.aply=kill",
		"journal.apply=kill,", ",", "journal.apply:18446744073709551616=kill", "journal.apply=stop", "journal.sync:007=kill",
	}
}

func FuzzParse(f *testing.F) {
	for _, list := range listSeeds() {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if fault := listFault(list, Parse); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The body above finds planted bugs among its own seeds, and nothing in what ships.
func TestFuzzBodyFindsPlantedBugs(t *testing.T) {
	over := func(parse listParser) (faults string) {
		for _, list := range listSeeds() {
			faults += listFault(list, parse)
		}
		return faults
	}
	if faults := over(Parse); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, parse := range map[string]listParser{
		"unknown names pass": func(list string, _ []string) ([]Point, error) { return Parse(list, append(known, "journal.aply")) },
		"empty entries pass": func(list string, known []string) ([]Point, error) { return Parse(strings.Trim(list, ","), known) },
	} {
		if over(parse) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
