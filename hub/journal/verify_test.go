package journal

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// tamper changes rows of a closed store behind the journal's back.
func tamper(t *testing.T, mem *vfs.MemFS, change func(*pebble.Batch)) {
	t.Helper()
	o := smallOptions(mem).withDefaults()
	db, err := pebble.Open("j/store", pebbleOptions(o, mem, newGuard(Options{}.withDefaults(), func(*Error) {})))
	must(t, err)
	b := db.NewBatch()
	change(b)
	must(t, b.Commit(pebble.Sync))
	must(t, db.Close())
}

// TestVerifyNamesEveryRange reports all of several contradictions, each with its range, and not only the first.
func TestVerifyNamesEveryRange(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s, err := Open("j", smallOptions(mem))
	must(t, err)
	lane := func(seq uint64) Event {
		return NewEvent(0, 1, ChatAccepted{MsgID: 1, Sender: "q/x@far", Origin: &Origin{Hub: "far", LaneSeq: seq}})
	}
	for range 4 {
		commit(t, s, chat("a"), chat("b"), chat("c"))
	}
	commit(t, s, lane(1))
	commit(t, s, lane(1)) // 14: taken twice
	ev, _, err := s.Event(2)
	must(t, err)
	commit(t, s, NewEvent(0, 1, BodyPurged{Seq: 2, Digest: ev.Digest}))
	must(t, s.Close())
	tamper(t, mem, func(b *pebble.Batch) {
		for _, err := range []error{
			b.Delete(seqKey(tableEvent, 4), nil),
			b.Delete(seqKey(tableEvent, 5), nil),
			b.Set(seqKey(tableBody, 7), []byte("other"), nil),
			b.Delete(seqKey(tableBody, 8), nil),
			b.Set(seqKey(tableChain, 12), make([]byte, 32), nil),
			b.Set(seqKey(tableBody, 2), []byte("b"), nil),
			b.Set(seqKey(tableEvent, 99), []byte("x"), nil),
			b.Set(MailboxKey("p", 77), nil, nil),
		} {
			must(t, err)
		}
	})
	// The row behind the end hides the end from the engine's last key: that is found, too.
	report, err := Verify("j", smallOptions(mem), nil)
	must(t, err)
	for want, at := range map[string]Range{
		"events are missing":                       {4, 5},
		"body does not match":                      {7, 7},
		"the body is missing":                      {8, 8},
		"the chain is broken":                      {12, 13}, // what follows a changed mark does not fit it either
		"taken again":                              {14, 14},
		"a purged body is still there":             {2, 2},
		"event behind the end":                     {99, 99},
		"row that names no event":                  {77, 77},
		"a body without its event":                 {4, 5},
		"last events and the end of the chain do ": {16, 99},
	} {
		if !reports(&report, want, at) {
			t.Errorf("%q %v is not reported: %+v", want, at, report.Problems)
		}
	}
	if _, err := Open("j", smallOptions(mem)); ReasonOf(err) != wire.ReasonJournalCorrupt {
		t.Errorf("Open: %v", err)
	}
}

func reports(r *Report, text string, at Range) bool {
	for _, p := range r.Problems {
		if p.Range == at && strings.Contains(p.Text, text) {
			return true
		}
	}
	return false
}

// TestReplayRefuses hands over nothing of a batch that does not hold together, and everything before it.
func TestReplayRefuses(t *testing.T) {
	newer := completed(Event{Seq: 5, Kind: KindLaneAcked, TimeUS: 1})
	newer.Format = 2
	cases := []struct {
		name   string
		change func(b *pebble.Batch) error
		reason wire.Reason
	}{
		{"gap", func(b *pebble.Batch) error { return b.Delete(seqKey(tableEvent, 5), nil) }, wire.ReasonJournalCorrupt},
		{"changed header", func(b *pebble.Batch) error {
			return b.Set(seqKey(tableEvent, 5), AppendHeader(nil, &newer), nil)
		}, wire.ReasonJournalCorrupt},
		{"changed mark", func(b *pebble.Batch) error { return b.Set(seqKey(tableChain, 6), make([]byte, 32), nil) }, wire.ReasonJournalCorrupt},
		{"malformed header", func(b *pebble.Batch) error { return b.Set(seqKey(tableEvent, 6), []byte("no"), nil) }, wire.ReasonJournalCorrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			s, err := Open("j", smallOptions(mem))
			must(t, err)
			for range 3 {
				commit(t, s, chat("a"), chat("b"), chat("c"))
			}
			must(t, s.Close())
			tamper(t, mem, func(b *pebble.Batch) { must(t, c.change(b)) })
			s = mustOpen(t, mem)
			last := uint64(0)
			err = s.Replay(0, func(ev Event) error { last = ev.Seq; return nil })
			if ReasonOf(err) != c.reason || last != 3 {
				t.Errorf("handed over up to %d: %v", last, err)
			}
		})
	}
}

// TestReplayKnowsItsLimits refuses another hub's epoch and a newer build's event, and skips what may be skipped.
func TestReplayKnowsItsLimits(t *testing.T) {
	s := mustOpen(t, vfs.NewCrashableMem())
	ev := Event{Seq: 1, Kind: 900, Format: 1}
	if _, err := s.readable(&ev); ReasonOf(err) != wire.ReasonJournalNewerFormat {
		t.Errorf("unknown kind: %v", err)
	}
	ev.Format |= FormatIgnorable
	if skip, err := s.readable(&ev); !skip || err != nil {
		t.Errorf("ignorable kind: %v %v", skip, err)
	}
	ev = completed(NewEvent(1, 1, EpochStarted{HubID: "evil.example", Number: 1}))
	if _, err := s.readable(&ev); ReasonOf(err) != wire.ReasonWrongHub {
		t.Errorf("another hub's epoch: %v", err)
	}
}

// TestExport shows kinds and fields by name, digests in hex, bodies only when given, token hashes never.
func TestExport(t *testing.T) {
	var all []byte
	for i, rec := range samples() {
		ev := completed(NewEvent(uint64(i+1), 5, rec))
		out, err := wire.Marshal(ExportEvent(ev))
		must(t, err)
		all = append(append(all, out...), '\n')
	}
	withBody := completed(chat(`{"payload":"hi"}`))
	out, err := wire.Marshal(ExportEvent(withBody))
	must(t, err)
	all = append(append(all, out...), '\n')
	withBody.Body, withBody.HasBody = []byte{0xff}, true
	out, err = wire.Marshal(ExportEvent(withBody))
	must(t, err)
	all = append(append(all, out...), '\n')
	text := string(all)
	for _, want := range []string{`"kind":"chat_accepted"`, `"up_to":40`, `"state":"expired"`, `"body":"{\"payload\":\"hi\"}"`, `"base64":true`, `"pins":["02`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if bytes.Contains(all, []byte("Hash")) || strings.Contains(text, "MsgID") {
		t.Errorf("a hash or an untagged field in\n%s", text)
	}
}

// TestKeysOrder holds ranges to exactly the keys they name, whatever the names.
func TestKeysOrder(t *testing.T) {
	name := rapid.StringMatching(`[a-c/]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		from, to, seq := rapid.Uint64().Draw(t, "from"), rapid.Uint64().Draw(t, "to"), rapid.Uint64().Draw(t, "seq")
		if rapid.Bool().Draw(t, "open") {
			to = 1<<64 - 1
		}
		lo, hi := MailboxRange(a, from, to)
		key := MailboxKey(b, seq)
		in := bytes.Compare(lo, key) <= 0 && bytes.Compare(key, hi) < 0
		if in != (a == b && from <= seq && seq <= to) {
			t.Fatalf("key (%q, %d) in range (%q, %d, %d): %v", b, seq, a, from, to, in)
		}
		if SeqOfKey(key) != seq || (b != "" && NameOfKey(key) != b) {
			t.Fatalf("key (%q, %d) reads back as (%q, %d)", b, seq, NameOfKey(key), SeqOfKey(key))
		}
	})
}

// TestHeadSlots keeps one whole slot on disk whatever was torn since, and takes the newest whole one.
func TestHeadSlots(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		mem := vfs.NewCrashableMem()
		must(t, mem.MkdirAll("j", 0o700))
		must(t, syncDir(mem, "."))
		must(t, createHead(mem, "j", slot{}))
		newest, index, _, err := readHead(mem, "j/HEAD")
		must(t, err)
		h, err := openHead(mem, "j/HEAD", newest, index, func(string) error { return nil }, nil)
		must(t, err)
		synced := uint64(0)
		for seq := range uint64(1 + rng.IntN(12)) {
			must(t, h.write(seq+1, [32]byte{byte(seq)}))
			if rng.IntN(3) == 0 {
				must(t, h.sync())
				synced = seq + 1
			}
		}
		cut := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
		got, _, _, err := readHead(cut, "j/HEAD")
		if err != nil || got.seq < synced {
			t.Fatalf("after a power cut: %d (%v), %d was synced", got.seq, err, synced)
		}
		must(t, h.f.Close())
	}
}
