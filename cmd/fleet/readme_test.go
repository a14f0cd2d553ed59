package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleetrelay/testenv/house"
)

// TestReadmeWorksAsPasted: a shell finds the program by the name that the README's examples give it, and the program
// understands each of them.
func TestReadmeWorksAsPasted(t *testing.T) {
	dir, err := house.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	found, seen := false, 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		line, example := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		line, _, _ = strings.Cut(line, " #")
		switch {
		case !example:
		case strings.TrimSpace(line) == `export PATH="$PWD/bin:$PATH"`:
			found = true
		case strings.HasPrefix(line, "fleet "):
			seen++
			if !found {
				t.Errorf("before PATH is set: %s", line)
			}
			if err := checkCommand(testRoot(), shellWords(line)[1:]); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if seen < 4 {
		t.Errorf("only %d examples found", seen)
	}
}

// TestManualsWorkAsPasted: the program understands each command line that a manual shows.
func TestManualsWorkAsPasted(t *testing.T) {
	dir, err := house.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"peering.md": 10, "operating.md": 4} {
		text, err := os.ReadFile(filepath.Join(dir, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for line := range strings.Lines(string(text)) {
			line, example := strings.CutPrefix(strings.TrimRight(line, "\n"), "    fleet ")
			if !example {
				continue
			}
			seen++
			line, _, _ = strings.Cut(line, " #")
			if err := checkCommand(testRoot(), shellWords(line)); err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
		if seen < least {
			t.Errorf("%s: only %d examples found", name, seen)
		}
	}
}
