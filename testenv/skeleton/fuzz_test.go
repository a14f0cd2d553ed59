package skeleton

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// frameReader is readFrame, or one with a planted bug.
type frameReader func(io.Reader) (kind byte, number uint64, frame []byte, err error)

// framesFault holds that the frames of a stream are, written again, the beginning of that stream, and that each is of a
// known kind and within bounds.
func framesFault(stream []byte, read frameReader) string {
	var again bytes.Buffer
	for in := bytes.NewReader(stream); ; {
		kind, number, frame, err := read(in)
		if err != nil {
			break
		}
		if kind != kindRecord && (kind != kindAck || len(frame) > 0) || len(frame) > maxRecord {
			return fmt.Sprintf("a frame of kind %q and %d bytes is read", kind, len(frame))
		}
		if err := writeFrame(&again, kind, number, frame); err != nil {
			return err.Error()
		}
	}
	if !bytes.HasPrefix(stream, again.Bytes()) {
		return fmt.Sprintf("%x is read as %x", stream, again.Bytes())
	}
	return ""
}

func frameSeeds(t testing.TB) [][]byte {
	var record, both bytes.Buffer
	for _, err := range []error{
		writeFrame(&record, kindRecord, 1<<40, []byte(`{"a":1}`)), writeFrame(&both, kindAck, 7, nil), writeFrame(&both, kindRecord, 8, nil),
		writeFrame(&both, kindRecord, 9, []byte("x")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	whole := record.Bytes()
	other := append([]byte{'x'}, whole[1:]...)
	loud := append([]byte{kindAck}, whole[1:]...)
	return [][]byte{nil, whole, whole[:len(whole)-1], both.Bytes(), other, loud, bytes.Repeat([]byte{0xff}, headBytes)}
}

func FuzzFrames(f *testing.F) {
	for _, stream := range frameSeeds(f) {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if fault := framesFault(stream, readFrame); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The body above finds planted bugs among its own seeds, and nothing in what ships.
func TestFuzzBodyFindsPlantedBugs(t *testing.T) {
	over := func(read frameReader) (faults string) {
		for _, stream := range frameSeeds(t) {
			faults += framesFault(stream, read)
		}
		return faults
	}
	if faults := over(readFrame); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, read := range map[string]frameReader{
		"a cut record is filled up": func(in io.Reader) (byte, uint64, []byte, error) {
			return readFrame(io.MultiReader(in, bytes.NewReader([]byte{0})))
		},
		"any kind is a record": func(in io.Reader) (byte, uint64, []byte, error) {
			var kind [1]byte
			if _, err := io.ReadFull(in, kind[:]); err != nil {
				return 0, 0, nil, err
			}
			return readFrame(io.MultiReader(bytes.NewReader([]byte{kindRecord}), in))
		},
	} {
		if over(read) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
