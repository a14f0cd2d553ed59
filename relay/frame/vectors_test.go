package frame

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// vector is one file of testdata/vectors: lines of `name: value`.
//
//	comment   what it shows
//	kind      frame or origin
//	expect    ok, a reason word, cut (the stream ends inside the frame) or end (it ends before it)
//	ceiling   largest payload of the receiver, 1,114,112 without the line
//	prefix    of a frame: its two lengths, hexadecimal
//	header    of a frame: its header as text
//	payload   of a frame: hexadecimal
//	block     of an origin: the block as text; block-hex the same in hexadecimal
type vector struct {
	name   string
	fields map[string]string
}

func vectors(t testing.TB) []vector {
	t.Helper()
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("vectors: %v, %d files", err, len(files))
	}
	var all []vector
	for _, file := range files {
		all = append(all, readVector(t, file))
	}
	return all
}

func readVector(t testing.TB, file string) vector {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v := vector{name: strings.TrimSuffix(filepath.Base(file), ".txt"), fields: map[string]string{}}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("%s: line %q", file, line)
		}
		v.fields[name] = value
	}
	return v
}

func vectorNamed(t testing.TB, name string) vector {
	t.Helper()
	return readVector(t, filepath.Join("testdata/vectors", name+".txt"))
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bytes is the vector's input: a stream with one frame, or an origin block.
func (v vector) bytes(t testing.TB) []byte {
	t.Helper()
	switch {
	case v.fields["kind"] == "frame":
		b := append(unhex(t, v.fields["prefix"]), v.fields["header"]...)
		return append(b, unhex(t, v.fields["payload"])...)
	case v.fields["block-hex"] != "":
		return unhex(t, v.fields["block-hex"])
	}
	return []byte(v.fields["block"])
}

func (v vector) ceiling(t testing.TB) int {
	t.Helper()
	text, ok := v.fields["ceiling"]
	if !ok {
		return PayloadCeiling(1 << 20)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// outcome is the word a vector expects for err.
func outcome(err error) string {
	refused, is := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return "ok"
	case is:
		return string(refused.Reason)
	case errors.Is(err, io.EOF):
		return "end"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut"
	}
	return err.Error()
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			in := v.bytes(t)
			err := parseAny(v.fields["kind"], in, v.ceiling(t))
			if got := outcome(err); got != v.fields["expect"] {
				t.Fatalf("%s: got %s (%v), want %s", v.fields["comment"], got, err, v.fields["expect"])
			}
		})
	}
}

func parseAny(kind string, in []byte, ceiling int) error {
	if kind == "origin" {
		_, err := new(OriginParser).Parse(in)
		return err
	}
	f, err := NewReader(bytes.NewReader(in), ceiling).Next()
	if err != nil {
		return err
	}
	_, err = parseFrame(f)
	return err
}
