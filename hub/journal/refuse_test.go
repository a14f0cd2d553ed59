package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

// mustOpen opens a small store and closes it with the test, which must leave no goroutine.
func mustOpen(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s, err := Open("j", smallOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && s.Failure() == nil {
			t.Error(err)
		}
		if s.Failure() == nil {
			goleak.VerifyNone(t, before)
		}
	})
	return s
}

// commit applies one batch of events with the given bodies ("" = none) and waits.
func commit(t *testing.T, s *Store, events ...Event) {
	t.Helper()
	b := NewBatch()
	head, _ := s.Head()
	for i, ev := range events {
		ev.Seq = head + 1 + uint64(i)
		b.Append(ev)
	}
	p, err := s.Apply(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

func chat(body string) Event {
	return NewEvent(0, 1, ChatAccepted{MsgID: 1, Sender: "p/a"}).WithBody([]byte(body), [32]byte{})
}

// edit rewrites one file of a closed journal.
func edit(t *testing.T, fs vfs.FS, path string, change func([]byte) []byte) {
	t.Helper()
	writeAll(t, fs, path, change(readAll(t, fs, path)))
}

// TestOpenRefuses names every folder that must not be opened, with its reason, range and next step.
func TestOpenRefuses(t *testing.T) {
	replace := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(from), []byte(to), 1) }
	}
	cases := []struct {
		name   string
		break_ func(t *testing.T, fs *vfs.MemFS)
		opts   func(*Options)
		reason wire.Reason
		at     Range
	}{
		{name: "other hub", opts: func(o *Options) { o.HubID = "evil.example" }, reason: wire.ReasonWrongHub},
		{name: "newer format", break_: func(t *testing.T, fs *vfs.MemFS) {
			edit(t, fs, "j/FORMAT", replace("format: 1\nminimum-reader: 1", "format: 9\nminimum-reader: 9"))
		}, reason: wire.ReasonJournalNewerFormat},
		{name: "damaged FORMAT", break_: func(t *testing.T, fs *vfs.MemFS) {
			edit(t, fs, "j/FORMAT", replace("minimum", "maximum"))
		}, reason: wire.ReasonJournalCorrupt},
		{name: "FORMAT gone", break_: func(t *testing.T, fs *vfs.MemFS) { must(t, fs.Remove("j/FORMAT")) }, reason: wire.ReasonJournalCorrupt},
		{name: "HEAD gone", break_: func(t *testing.T, fs *vfs.MemFS) { must(t, fs.Remove("j/HEAD")) }, reason: wire.ReasonJournalCorrupt, at: Range{1, 1<<64 - 1}},
		{name: "every slot damaged", break_: func(t *testing.T, fs *vfs.MemFS) {
			edit(t, fs, "j/HEAD", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("FLHD"), []byte("XLHD")) })
		}, reason: wire.ReasonJournalCorrupt, at: Range{1, 1<<64 - 1}},
		{name: "store gone", break_: func(t *testing.T, fs *vfs.MemFS) { must(t, fs.RemoveAll("j/store")) }, reason: wire.ReasonJournalCorrupt, at: Range{1, 3}},
		{name: "HEAD is ahead", break_: func(t *testing.T, fs *vfs.MemFS) {
			edit(t, fs, "j/HEAD", func(b []byte) []byte { copy(b, slot{99, 7, [32]byte{1}}.append(nil)); return b })
		}, reason: wire.ReasonJournalRewound, at: Range{4, 7}},
		{name: "another history", break_: func(t *testing.T, fs *vfs.MemFS) {
			edit(t, fs, "j/HEAD", func(b []byte) []byte { copy(b, slot{99, 2, [32]byte{1}}.append(nil)); return b })
		}, reason: wire.ReasonJournalRewound, at: Range{2, 2}},
		{name: "read only and not there", opts: func(o *Options) { o.ReadOnly, o.FS = true, vfs.NewMem() }, reason: wire.ReasonStoreMissing},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			s, err := Open("j", smallOptions(mem))
			must(t, err)
			for i := range 3 {
				commit(t, s, chat(fmt.Sprint("body", i)))
			}
			must(t, s.Close())
			o := smallOptions(mem)
			if c.break_ != nil {
				c.break_(t, mem)
			}
			if c.opts != nil {
				c.opts(&o)
			}
			before := goleak.IgnoreCurrent()
			_, err = Open("j", o)
			var e *Error
			if !errors.As(err, &e) || e.Reason != c.reason || e.Range != c.at || e.Next == "" || strings.Contains(err.Error(), "body") {
				t.Errorf("got %v (%+v), want %s %v", err, e, c.reason, c.at)
			}
			goleak.VerifyNone(t, before)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOneOwnerAtATime(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := mustOpen(t, mem)
	if _, err := Open("j", smallOptions(mem)); ReasonOf(err) != wire.ReasonStoreLocked {
		t.Errorf("second Open: %v", err)
	}
	if _, err := Verify("j", smallOptions(mem), nil); ReasonOf(err) != wire.ReasonStoreLocked {
		t.Errorf("Verify beside it: %v", err)
	}
	commit(t, s, chat("still works"))
}

// TestPurge removes a body with an audited tombstone: the chain still verifies and the bytes are gone for readers.
func TestPurge(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s, err := Open("j", smallOptions(mem))
	must(t, err)
	commit(t, s, chat("secret"), chat("kept"))
	ev, _, err := s.Event(1)
	must(t, err)
	stone := NewEvent(0, 2, BodyPurged{Seq: 1, Digest: ev.Digest, By: "admin:x", Reason: "asked"})
	commit(t, s, stone)
	if _, ok, err := s.Body(1); ok || err != nil {
		t.Errorf("purged body: %v %v", ok, err)
	}
	if body, ok, err := s.Body(2); !ok || err != nil || string(body) != "kept" {
		t.Errorf("kept body: %q %v %v", body, ok, err)
	}
	for _, rec := range []BodyPurged{
		{Seq: 1, Digest: ev.Digest}, {Seq: 2, Digest: ev.Digest}, {Seq: 3, Digest: ev.Digest}, {Seq: 40, Digest: ev.Digest},
	} {
		b := NewBatch()
		b.Append(NewEvent(4, 3, rec))
		if _, err := s.Apply(b); !errors.Is(err, ErrBatch) {
			t.Errorf("purge of %d: %v", rec.Seq, err)
		}
	}
	must(t, s.Replay(0, func(Event) error { return nil }))
	must(t, s.Close())
	report, err := Verify("j", smallOptions(mem), nil)
	if err != nil || !report.OK() || report.Purged != 1 || report.Bodies != 1 || report.Events != 3 {
		t.Errorf("report %+v, %v", report, err)
	}
}

func TestSnapshotKeepsOnlyTheNewestBody(t *testing.T) {
	s := mustOpen(t, vfs.NewCrashableMem())
	for i := range uint64(3) {
		commit(t, s, chat("x"))
		commit(t, s, NewEvent(0, 1, SnapshotTaken{UpTo: 2*i + 1}).WithBody(fmt.Append(nil, "state", i), [32]byte{}))
	}
	upTo, state, ok, err := s.LatestSnapshot()
	if upTo != 5 || string(state) != "state2" || !ok || err != nil {
		t.Errorf("%d %q %v %v", upTo, state, ok, err)
	}
	for _, old := range []uint64{2, 4} {
		if _, ok, err := s.Body(old); ok || err != nil {
			t.Errorf("body of snapshot %d: %v %v", old, ok, err)
		}
	}
	n := 0
	must(t, s.Replay(upTo, func(ev Event) error { n++; return nil }))
	if n != 1 {
		t.Errorf("replayed %d events after the snapshot", n)
	}
}

// TestApplyRefuses changes nothing for a batch that its maker got wrong, and goes on.
func TestApplyRefuses(t *testing.T) {
	s := mustOpen(t, vfs.NewCrashableMem())
	commit(t, s, chat("one"))
	for name, fill := range map[string]func(*Batch){
		"empty":          func(*Batch) {},
		"gap":            func(b *Batch) { b.Append(NewEvent(3, 1, SnapshotTaken{})) },
		"repeat":         func(b *Batch) { b.Append(NewEvent(1, 1, WatermarkRaised{})) },
		"unknown kind":   func(b *Batch) { b.Append(Event{Seq: 2, Kind: 999}) },
		"unknown format": func(b *Batch) { b.Append(Event{Seq: 2, Kind: KindLaneAcked, Format: 7}) },
		"own table":      func(b *Batch) { b.Put(seqKey(tableEvent, 1), nil) },
		"two tables":     func(b *Batch) { b.DeleteRange([]byte{'m'}, []byte{'z'}) },
		"body unmarked":  func(b *Batch) { b.Append(Event{Seq: 2, Kind: KindLaneAcked, Body: []byte("x")}) },
	} {
		b := NewBatch()
		fill(b)
		if _, err := s.Apply(b); !errors.Is(err, ErrBatch) || ReasonOf(err) != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	commit(t, s, chat("two"))
	if seq, _ := s.Head(); seq != 2 {
		t.Errorf("head %d", seq)
	}
}

// TestHooksStop fails at every fail-point in turn: a typed stop before anything is told, and a clean next start.
func TestHooksStop(t *testing.T) {
	for _, point := range Points() {
		t.Run(point, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			w := newWorld(5)
			hit := false
			o := smallOptions(mem)
			o.Hook = func(p string) error {
				if p == point && !hit {
					hit = true
					return errors.New("planted")
				}
				return nil
			}
			s, err := Open("j", o)
			if err == nil {
				err = errors.Join(w.run(s, 60), s.Close())
			}
			if !hit || ReasonOf(err) != wire.ReasonJournalFailed {
				t.Fatalf("hit %v: %v", hit, err)
			}
			must(t, w.reopen(smallOptions(mem.CrashClone(vfs.CrashCloneCfg{})), int(w.told.Load())))
		})
	}
}

// TestReplayStartsAnywhere hands over exactly what follows, also from inside a batch.
func TestReplayStartsAnywhere(t *testing.T) {
	s := mustOpen(t, vfs.NewCrashableMem())
	for range 4 {
		commit(t, s, chat("a"), chat("b"), chat("c"))
	}
	for after := range uint64(13) {
		next := after + 1
		must(t, s.Replay(after, func(ev Event) error {
			if ev.Seq != next {
				t.Errorf("after %d: event %d where %d is next", after, ev.Seq, next)
			}
			next++
			return nil
		}))
		if next != max(after, 12)+1 {
			t.Errorf("after %d: ended before %d", after, next)
		}
	}
	stop := errors.New("enough")
	if err := s.Replay(0, func(Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopped by its caller: %v", err)
	}
}

// TestLargeBody takes a body beyond the memtable, as a snapshot may be, through a power cut.
func TestLargeBody(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := mustOpen(t, mem)
	state := bytes.Repeat([]byte("state"), 1<<18)
	commit(t, s, chat("before"))
	commit(t, s, NewEvent(0, 1, SnapshotTaken{UpTo: 1}).WithBody(state, [32]byte{}))
	commit(t, s, chat("after"))
	again := mustOpen(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	upTo, got, ok, err := again.LatestSnapshot()
	if upTo != 1 || !bytes.Equal(got, state) || !ok || err != nil {
		t.Errorf("%d, %d bytes, %v, %v", upTo, len(got), ok, err)
	}
	if seq, _ := again.Head(); seq != 3 {
		t.Errorf("head %d", seq)
	}
}
