package clientlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, "p/a@hub-a")
	if err != nil {
		t.Fatal(err)
	}
	entries := []Entry{
		{Kind: Joined, Who: "p/a", Hub: "hub-a", Roles: []string{"p/r"}},
		{Kind: Sent, Who: "p/a", Hub: "hub-a", To: "p/b@hub-b", ClientMsgID: "m1", Digest: Digest([]byte("x"))},
		{Kind: Joined, Who: "p/a", Hub: "hub-a"},
		{Kind: Receipt, Who: "p/a", Hub: "hub-a", Seq: 7, Delivered: true, Recipients: []string{"p/b"}},
	}
	for _, e := range entries {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := Files(dir)
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "p_a_at_hub-a.jsonl" {
		t.Fatalf("files %v, %v", files, err)
	}
	for i, conn := range []uint64{1, 1, 2, 2} {
		entries[i].Conn = conn
	}
	if diff := cmp.Diff(entries, read(t, files[0])); diff != "" {
		t.Error(diff)
	}
}

func read(t *testing.T, path string) []Entry {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var got []Entry
	if err := Read(in, func(_ int, e Entry) error { got = append(got, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestLines(t *testing.T) {
	long := strings.Repeat("y", 200_000)
	for _, tc := range []struct {
		name, text string
		want       []string
		torn, bad  bool
	}{
		{name: "empty"},
		{name: "whole", text: "a\n\nb\n", want: []string{"a", "", "b"}},
		{name: "torn", text: "a\nb", want: []string{"a"}, torn: true},
		{name: "longer than the buffer", text: long + "\nz\n" + long + "\n", want: []string{long, "z", long}},
		{name: "longer than the limit", text: strings.Repeat("y", 300_000) + "\n", bad: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			err := Lines(strings.NewReader(tc.text), 250_000, func(_ int, line []byte) error {
				got = append(got, string(line))
				return nil
			})
			if errors.Is(err, ErrTorn) != tc.torn || (err != nil) != (tc.torn || tc.bad) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && !tc.bad {
				t.Error("other lines than were written")
			}
		})
	}
}

func TestReadNamesTheBadLine(t *testing.T) {
	for _, text := range []string{
		"{\"kind\":\"sent\",\"who\":\"a\",\"hub\":\"h\"}\n{\"kind\":\"sent\",\"colour\":1}\n",
		"{\"kind\":\"sent\",\"who\":\"a\",\"hub\":\"h\"}\nnot json\n",
	} {
		err := Read(strings.NewReader(text), func(int, Entry) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
