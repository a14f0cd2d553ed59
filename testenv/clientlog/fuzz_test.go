package clientlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fleetrelay/hub/wire"
)

// lineReader is Lines, entryReader is Read, or one with a planted bug.
type (
	lineReader  func(r io.Reader, limit int, fn func(int, []byte) error) error
	entryReader func(r io.Reader, fn func(int, Entry) error) error
)

const fuzzLimit = 100

// linesFault compares the lines with what bytes.Split says, numbers, limit and torn end included.
func linesFault(text []byte, lines lineReader) string {
	var got [][]byte
	err := lines(bytes.NewReader(text), fuzzLimit, func(number int, line []byte) error {
		got = append(got, bytes.Clone(line))
		if number != len(got) {
			return fmt.Errorf("line %d is called %d", len(got), number)
		}
		return nil
	})
	want := bytes.Split(text, []byte("\n"))
	last := want[len(want)-1] // what follows the last line end
	for i, line := range want {
		size := len(line) + 1
		if i == len(want)-1 {
			size--
		}
		if size > fuzzLimit { // counted with its end
			if err == nil || errors.Is(err, ErrTorn) || len(got) != i {
				return fmt.Sprintf("a line of %d bytes: %d lines, %v", size, len(got), err)
			}
			return ""
		}
	}
	if (len(last) > 0) != errors.Is(err, ErrTorn) || err != nil && !errors.Is(err, ErrTorn) {
		return fmt.Sprintf("%q behind the last line: %v", last, err)
	}
	if a, b := bytes.Join(got, []byte("\n")), bytes.Join(want[:len(want)-1], []byte("\n")); len(got) != len(want)-1 || !bytes.Equal(a, b) {
		return fmt.Sprintf("%d lines %.100q, want %d %.100q", len(got), a, len(want)-1, b)
	}
	return ""
}

// readFault holds that no line of a log is passed over, and that an entry means the same when it is written again.
func readFault(text []byte, read entryReader) string {
	whole, fault := 0, ""
	err := read(bytes.NewReader(text), func(number int, e Entry) error {
		whole++
		line, err := wire.Marshal(e)
		if err != nil {
			fault = "an entry that cannot be written: " + err.Error()
			return nil
		}
		var again Entry
		if err := wire.Unmarshal(line, &again); err != nil || fmt.Sprintf("%#v", again) != fmt.Sprintf("%#v", e) {
			fault = fmt.Sprintf("%+v is written %s (%v)", e, line, err)
		}
		return nil
	})
	if fault != "" {
		return fault
	}
	if lines := bytes.Count(text, []byte("\n")); (err == nil || errors.Is(err, ErrTorn)) && whole != lines {
		return fmt.Sprintf("%d entries of %d lines", whole, lines)
	}
	return ""
}

func logSeeds() [][]byte {
	var seeds [][]byte
	for _, s := range []string{
		"", "\n", "a\n\nb\n", "a\nb", "\r\n", strings.Repeat("y", fuzzLimit-1) + "\n", strings.Repeat("y", fuzzLimit) + "\n", strings.Repeat("y", fuzzLimit),
		"a\n" + strings.Repeat("y", 70_000) + "\n",
		`{"kind":"joined","who":"p/a","hub":"h","conn":1,"roles":["p/r"]}` + "\n" + `{"kind":"sent","who":"p/a","hub":"h","to":"b","client_msg_id":"m"}` + "\n",
		`{"kind":"receipt","who":"p/a","hub":"h","seq":7,"delivered":true,"recipients":[]}` + "\n" + `{"kind":"rece`,
		`{"kind":"sent","who":"a","hub":"h"}` + "\n" + `{"kind":"sent","colour":1}` + "\n", "null\n", "{}\n{\"t\":1.5}\n",
	} {
		seeds = append(seeds, []byte(s))
	}
	return seeds
}

func FuzzLines(f *testing.F) {
	for _, text := range logSeeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if fault := linesFault(text, Lines); fault != "" {
			t.Fatal(fault)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, text := range logSeeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if fault := readFault(text, Read); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The bodies above find planted bugs among their own seeds, and nothing in what ships.
func TestFuzzBodiesFindPlantedBugs(t *testing.T) {
	overLines := func(lines lineReader) (faults string) {
		for _, text := range logSeeds() {
			faults += linesFault(text, lines)
		}
		return faults
	}
	overEntries := func(read entryReader) (faults string) {
		for _, text := range logSeeds() {
			faults += readFault(text, read)
		}
		return faults
	}
	if faults := overLines(Lines) + overEntries(Read); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, lines := range map[string]lineReader{
		"a torn line is whole": func(r io.Reader, limit int, fn func(int, []byte) error) error {
			return Lines(io.MultiReader(r, strings.NewReader("\n")), limit, fn)
		},
		"empty lines are passed over": func(r io.Reader, limit int, fn func(int, []byte) error) error {
			return Lines(r, limit, func(number int, line []byte) error {
				if len(line) == 0 {
					return nil
				}
				return fn(number, line)
			})
		},
		"one byte too many": func(r io.Reader, limit int, fn func(int, []byte) error) error { return Lines(r, limit+1, fn) },
	} {
		if overLines(lines) == "" {
			t.Errorf("lines: %s: not found", name)
		}
	}
	for name, read := range map[string]entryReader{
		"bad lines are passed over": func(r io.Reader, fn func(int, Entry) error) error {
			return Lines(r, maxLine, func(number int, line []byte) error {
				var e Entry
				if wire.Unmarshal(line, &e) != nil {
					return nil
				}
				return fn(number, e)
			})
		},
	} {
		if overEntries(read) == "" {
			t.Errorf("entries: %s: not found", name)
		}
	}
}
