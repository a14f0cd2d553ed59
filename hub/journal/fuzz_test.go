package journal

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// recordReader reads an event's record; the fuzz target must tell a good one from a bad one.
type recordReader func(Event) (any, error)

// additiveFault holds of a record whose format allows unknown fields: what is read of it is a record by itself, never
// longer, and one more unknown field changes nothing. Without unknown fields it is what the strict reader reads.
func additiveFault(kind Kind, attrs []byte, read recordReader) string {
	lax := func(b []byte) ([]byte, bool) {
		return again(Event{Seq: 1, Kind: kind, Format: 1 | FormatAdditive, Attrs: b}, read)
	}
	strict := func(b []byte) ([]byte, bool) {
		return again(Event{Seq: 1, Kind: kind, Format: 1, Attrs: b}, Event.Record)
	}
	got, ok := lax(attrs)
	if own, whole := strict(attrs); whole && (!ok || !bytes.Equal(own, got)) {
		return fmt.Sprintf("%v %x has no unknown field and reads as %x, %v", kind, attrs, got, ok)
	}
	if !ok {
		return ""
	}
	if same, ok := strict(got); !ok || !bytes.Equal(same, got) || len(got) > len(attrs) {
		return fmt.Sprintf("%v %x reads as %x, which reads as %x, %v", kind, attrs, got, same, ok)
	}
	// The highest number: it may stand behind any other.
	more := appendText(bytes.Clone(attrs), protowire.MaxValidNumber, "new")
	if same, ok := lax(more); !ok || !bytes.Equal(same, got) {
		return fmt.Sprintf("%v %x reads as %x, and with one more unknown field as %x, %v", kind, attrs, got, same, ok)
	}
	return ""
}

// again is the record's own encoding; ok is false when it is refused.
func again(ev Event, read recordReader) (b []byte, ok bool) {
	rec, err := read(ev)
	if err != nil {
		return nil, false
	}
	return rec.(Record).Append(nil), true
}

// additiveSeeds are all samples: as they are, with a field of a newer build before, between or behind their own.
func additiveSeeds() (kinds []Kind, attrs [][]byte) {
	for _, rec := range samples() {
		own := rec.Append(nil)
		_, _, first := protowire.ConsumeField(own)
		newer := appendText(nil, 99, "new")
		for _, b := range [][]byte{own, append(bytes.Clone(own), newer...), append(bytes.Clone(newer), own...), append(bytes.Clone(own[:first]), newer...), own[:len(own)-1]} {
			kinds, attrs = append(kinds, rec.Kind()), append(attrs, b)
		}
	}
	return kinds, attrs
}

func FuzzAdditive(f *testing.F) {
	kinds, attrs := additiveSeeds()
	for i := range kinds {
		f.Add(uint16(kinds[i]), attrs[i])
	}
	f.Fuzz(func(t *testing.T, kind uint16, b []byte) {
		if fault := additiveFault(Kind(kind), b, Event.Record); fault != "" {
			t.Fatal(fault)
		}
	})
}

// keyReader takes a key apart.
type keyReader func(key []byte) (name string, seq uint64)

func readKey(key []byte) (string, uint64) { return NameOfKey(key), SeqOfKey(key) }

// keyFault holds that a key with a name is the one made of that name and sequence, and that a sequence value has one form.
func keyFault(key []byte, read keyReader) string {
	if seq, ok := ParseSeqValue(key); ok && !bytes.Equal(SeqValue(seq), key) {
		return fmt.Sprintf("the value %x reads as %d", key, seq)
	}
	name, seq := read(key)
	if name == "" {
		return ""
	}
	if again := named(key[0], name, seq); !bytes.Equal(again, key) {
		return fmt.Sprintf("the key %x reads as (%q, %d), which is %x", key, name, seq, again)
	}
	return ""
}

func keySeeds() [][]byte {
	return [][]byte{
		nil,
		{TableMailbox},
		MailboxKey("p/a", 7), MailboxKey("", 7), LaneKey("far", 1<<63), NoteKey("p/a", 0), WatermarkKey("p/a"), SeqValue(9),
		append(MailboxKey("p", 1), MailboxKey("a", 2)...), WatermarkKey("a name that is long enough"), seqKey(tableEvent, 3),
	}
}

func FuzzKeys(f *testing.F) {
	for _, key := range keySeeds() {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if fault := keyFault(key, readKey); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The bodies above find a planted bug among their own seeds, and nothing in what ships.
func TestFuzzBodiesFindPlantedBugs(t *testing.T) {
	overRecords := func(read recordReader) (faults string) {
		kinds, attrs := additiveSeeds()
		for i := range kinds {
			faults += additiveFault(kinds[i], attrs[i], read)
		}
		return faults
	}
	overKeys := func(read keyReader) (faults string) {
		for _, key := range keySeeds() {
			faults += keyFault(key, read)
		}
		return faults
	}
	if faults := overRecords(Event.Record) + overKeys(readKey); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	strict := func(ev Event) (any, error) {
		ev.Format &^= FormatAdditive
		return ev.Record()
	}
	oneMore := func(ev Event) (any, error) { // an unknown field takes the one before with it
		before, last := 0, 0
		for n := 0; n < len(ev.Attrs); {
			num, _, size := protowire.ConsumeField(ev.Attrs[n:])
			if size < 0 {
				break
			}
			if num > 90 {
				ev.Attrs = append(bytes.Clone(ev.Attrs[:before]), ev.Attrs[last:]...)
				break
			}
			before, last, n = n, n+size, n+size
		}
		return ev.Record()
	}
	for name, read := range map[string]recordReader{"strict": strict, "one field too many is skipped": oneMore} {
		if overRecords(read) == "" {
			t.Errorf("records: %s: not found", name)
		}
	}
	anyEnd := func(key []byte) (string, uint64) { // the name ends at the first zero byte
		name, _, ok := bytes.Cut(key, []byte{0})
		if !ok || len(name) == 0 {
			return "", 0
		}
		return string(name[1:]), SeqOfKey(key)
	}
	if overKeys(anyEnd) == "" {
		t.Error("keys: a name that ends at the first zero byte: not found")
	}
}
