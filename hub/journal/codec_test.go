package journal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// codec is one encoding under test: records, the event header, the head slot, FORMAT.
type codec struct {
	name   string
	sample []byte
	// again parses and appends again.
	again func(b []byte) ([]byte, error)
	// whole says that every truncation is an error by itself; a record's end is known from its event header.
	whole bool
}

func fullOrigin() Origin {
	return Origin{
		Hub: "far.example", Epoch: 2, EpochID: [16]byte{1, 2}, LaneSeq: 300, MsgID: 9, AcceptedUS: 1796063246832343,
		Sender: "p/a", Principal: "token:7", Target: "q/b@acme.example",
	}
}

// samples holds one of every record with every field set, in the order of kinds.
func samples() []Record {
	o := fullOrigin()
	return []Record{
		EpochStarted{HubID: "acme.example", Number: 3, ID: [16]byte{0xaa, 15: 0xbb}},
		ChatAccepted{
			MsgID: 7, Sender: "p/a@far.example", Target: "", HasTarget: true, Principal: "peer:far.example", ClientMsgID: "c-1",
			ClientTimestamp: "1.5e3", ReceiptRequested: true, Dest: "other.example", LaneSeq: 12, Origin: &o, AwaitsRemote: true,
		},
		ReceiptSettled{
			ChatSeq: 5, MsgID: 6, Sender: "p/a", Target: "p/*", ClientMsgID: "c-2", State: ReceiptExpired,
			Recipients: []string{"p/b", ""}, Matched: []string{"p/c"}, Stale: []string{"p/d"},
			Wake: []NameWake{{"p/b", "poll"}, {"p/c", ""}}, Reason: "pending_window_evicted", DeadLettered: true,
			RemoteHub: "far.example", About: 9,
		},
		NotificationsSettled{Sender: "p/a", Seqs: []uint64{4, 300}},
		WatermarkRaised{Identity: "p/a", Seq: 77},
		TokenCreated{ID: "t1", Seat: "p/a", By: "admin:x", Hash: [32]byte{1}},
		TokenRevoked{ID: "t1", By: "admin:x"},
		PeerApproved{
			Hub: "far.example", Endpoints: []string{"far.example:8877", "[::1]:1"}, Pins: [][32]byte{{2}, {}}, MayReach: []string{"p/*", "q/b"},
			By: "Ann", User: "root", Invite: []byte("sixteen bytes of"),
		},
		InboundRefused{Origin: o, Reason: "not_permitted"},
		LaneAcked{Peer: "far.example", LaneSeq: 12, Hash: [32]byte{5}, Bytes: 4096},
		RemoteRefused{
			Peer: "far.example", LaneSeq: 1, ChatSeq: 2, MsgID: 3, Sender: "p/a", Target: "q/b@far.example",
			ClientMsgID: "c", ClientTimestamp: "17", Reason: "not_permitted",
		},
		RecordQuarantined{Source: "agent:p/a", Command: "chat", Reason: "quarantined", Detail: "index out of range"},
		SnapshotTaken{UpTo: 40},
		BodyPurged{Seq: 5, Digest: [32]byte{9}, By: "admin:x", Reason: "asked"},
		InviteCreated{ID: "0a1b2c3d", Hash: [32]byte{7}, By: "Ann", User: "root", ExpiresUS: 1796063246832343},
		PeerJoined{
			Hub: "far.example", Pin: [32]byte{8}, Endpoints: []string{"far.example:8877"}, Invite: []byte("sixteen bytes of"),
			ExpiresUS: 1796063246832343, User: "root",
		},
		PeerCalled{Hub: "far.example", Pin: [32]byte{8}, Endpoints: []string{"far.example:8877", "[::1]:1"}, Host: "192.0.2.7", InviteID: "0a1b2c3d"},
		PeerRejected{
			Hub: "far.example", Pin: [32]byte{8}, By: "Ann", User: "root", Endpoints: []string{"far.example:8877"}, Invite: []byte("sixteen bytes of"),
		},
		PeerRevoked{Hub: "far.example", By: "Ann", User: "root", Why: "the contract ended"},
		LinkOpened{Peer: "far.example", Head: 300, Address: "192.0.2.7:8877", Dialled: true},
		LinkClosed{Peer: "far.example", Sent: 299, Reason: "link_lost"},
		RecordWithdrawn{
			Peer: "far.example", LaneSeq: 1, ChatSeq: 2, MsgID: 3, Sender: "p/a", Target: "q/b@far.example", ClientMsgID: "c",
			ClientTimestamp: "17", Reason: "relay_expired", LaneHash: [32]byte{4}, Bytes: 19, Through: 300, Origin: &o,
		},
		ProfileAgreed{
			Peer: "far.example", Number: 2, Version: 1, Chat: true, Receipts: 2, Roster: true,
			MaxBodyBytes: 1 << 20, MaxFrameBytes: 1<<20 + 1<<16, MaxHops: 1,
		},
		LinkBackoff{Peer: "far.example", Attempts: 3, Reason: "certificate_refused", NextUS: 1796063246832343, RevokedUS: 1796063246000000},
		LaneReconciled{
			Peer: "far.example", By: "Ann", User: "root", Epoch: 2, EpochID: [16]byte{4}, Base: 45, BaseHash: [32]byte{5}, Head: 50,
		},
		LaneAdopted{
			Peer: "far.example", Epoch: 2, EpochID: [16]byte{6}, Seq: 80, Hash: [32]byte{7}, LostFrom: 41, LostTo: 80, HeldFrom: 1, HeldTo: 2,
		},
		LaneResumed{Peer: "far.example", Until: 120},
		VerdictsSaid{Dest: "far.example", LaneSeq: 8, Verdicts: []ReceiptSettled{
			{ChatSeq: 5, MsgID: 6, Sender: "p/a@far.example", Target: "q/b", State: ReceiptDelivered, Recipients: []string{"q/b"}, About: 9},
			{ChatSeq: 7, State: ReceiptDeferred, About: 10},
		}},
		VerdictsHeard{Origin: o, LaneHash: [32]byte{7}, Verdicts: []FarVerdict{
			{
				About: 12, State: ReceiptPending, HubSeq: 44, HubMsgID: 45, Recipients: []string{"q/b"},
				Stale: []string{"q/b"}, Wake: []NameWake{{"q/b", "direct"}}, Reason: "no_live_recipient", DeadLettered: true,
				ChatSeq: 5, MsgID: 6, Sender: "p/a", Target: "q/b@far.example", ClientMsgID: "c-3", Tells: ReceiptExpired,
			},
			{About: 13, State: ReceiptDelivered},
		}},
		InviteWithdrawn{ID: "0a1b2c3d", By: "Ann", User: "root"},
	}
}

// codecs is the one table of everything that is decoded from disk.
func codecs() []codec {
	var out []codec
	for _, rec := range samples() {
		ev := NewEvent(1, 2, rec)
		ev.Format = 1
		out = append(out, codec{name: rec.Kind().String(), sample: ev.Attrs, again: func(b []byte) ([]byte, error) {
			ev := ev
			ev.Attrs = b
			parsed, err := ev.Record()
			if err != nil {
				return nil, err
			}
			return parsed.(Record).Append(nil), nil
		}})
	}
	withBody := completed(NewEvent(9, 1796063246832343, WatermarkRaised{Identity: "p/a", Seq: 3}).WithBody([]byte("body"), [32]byte{}))
	plain := completed(NewEvent(10, -1, SnapshotTaken{UpTo: 9}))
	header := func(b []byte) ([]byte, error) {
		ev, err := ParseHeader(b)
		if err != nil {
			return nil, err
		}
		return AppendHeader(nil, &ev), nil
	}
	return append(out,
		codec{"header_body", AppendHeader(nil, &withBody), header, true},
		codec{"header_plain", AppendHeader(nil, &plain), header, true},
		codec{"head_slot", slot{7, 300, [32]byte{3}}.append(nil), func(b []byte) ([]byte, error) {
			s, ok := parseSlot(b)
			if !ok {
				return nil, errHeadDamaged
			}
			return s.append(nil), nil
		}, true},
		codec{"format", []byte(format{1, 1, "acme.example", formatMessage}.String()), func(b []byte) ([]byte, error) {
			f, err := parseFormat(string(b))
			if err == nil && f.number != formatCurrent {
				return b, nil // a newer one may say more than this build keeps
			}
			return []byte(f.String()), err
		}, true},
	)
}

func TestEveryKindHasASample(t *testing.T) {
	kinds := Kinds()
	for i, rec := range samples() {
		if i >= len(kinds) || rec.Kind() != kinds[i] {
			t.Errorf("sample %d is of %v", i, rec.Kind())
		}
	}
	if len(samples()) != len(kinds) {
		t.Errorf("%d kinds, %d samples", len(kinds), len(samples()))
	}
}

// TestGolden holds every encoding to its bytes on disk, both ways. UPDATE=1 rewrites them, for a new encoding only.
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "golden.txt")
	var lines []string
	for _, c := range codecs() {
		lines = append(lines, c.name+" "+hex.EncodeToString(c.sample))
		got, err := c.again(c.sample)
		if err != nil || !bytes.Equal(got, c.sample) {
			t.Errorf("%s: parsed and appended again: %x, %v", c.name, got, err)
		}
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), lines); diff != "" {
		t.Error(diff)
	}
}

func TestRecordsKeepEveryField(t *testing.T) {
	for _, rec := range samples() {
		ev := NewEvent(1, 2, rec)
		ev.Format = 1
		got, err := ev.Record()
		if diff := cmp.Diff(any(rec), got); err != nil || diff != "" {
			t.Errorf("%v: %v %s", rec.Kind(), err, diff)
		}
	}
}

// TestTruncation cuts every encoding at every byte: never the whole value, and where the encoding knows its own end
// an error.
func TestTruncation(t *testing.T) {
	for _, c := range codecs() {
		for n := range c.sample {
			got, err := c.again(c.sample[:n])
			if err == nil && (c.whole || bytes.Equal(got, c.sample)) {
				t.Errorf("%s cut at %d of %d: %x", c.name, n, len(c.sample), got)
			}
		}
	}
}

// TestFieldsAreStrict refuses what Append never writes, and unknown fields unless the event's format allows them.
func TestFieldsAreStrict(t *testing.T) {
	good := WatermarkRaised{Identity: "p/a", Seq: 3}.Append(nil)
	extra := appendText(bytes.Clone(good), 9, "new")
	for name, attrs := range map[string][]byte{
		"unknown field":   extra,
		"wrong order":     append(appendUint(nil, 2, 3), appendText(nil, 1, "p/a")...),
		"twice":           append(bytes.Clone(good), appendUint(nil, 2, 4)...),
		"zero":            append(appendText(nil, 1, "p/a"), 2<<3, 0),
		"long varint":     append(appendText(nil, 1, "p/a"), 2<<3, 0x83, 0),
		"wrong wire type": appendUint(nil, 1, 3),
		"group":           protowire.AppendTag(nil, 1, protowire.StartGroupType),
	} {
		if rec, err := ParseWatermarkRaised(attrs); err == nil {
			t.Errorf("%s: read as %+v", name, rec)
		}
	}
	ev := Event{Kind: KindWatermarkRaised, Format: 1 | FormatAdditive, Attrs: extra}
	if got, err := ev.Record(); err != nil || got != (WatermarkRaised{"p/a", 3}) {
		t.Errorf("additive format: %+v, %v", got, err)
	}
	ev.Format = 2
	if _, err := ev.Record(); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("newer format: %v", err)
	}
	if _, err := ParseReceiptSettled(appendText(nil, 3, "p/a")); err == nil {
		t.Error("a receipt without a state was read")
	}
}

// roundTrip is what every fuzz run checks: what is accepted is what would be written.
func roundTrip(c codec, b []byte) error {
	got, err := c.again(b)
	if err == nil && !bytes.Equal(got, b) {
		return errors.New(c.name + ": accepted bytes that it would not write")
	}
	return nil
}

func FuzzDecoders(f *testing.F) {
	all := codecs()
	for i, c := range all {
		f.Add(uint8(i), c.sample)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		if err := roundTrip(all[int(which)%len(all)], b); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFuzzFindsPlantedBugs runs the fuzz property, on its seeds with each byte changed, against decoders with a bug:
// one that skips trailing bytes and one that takes any flag for true.
func TestFuzzFindsPlantedBugs(t *testing.T) {
	for _, c := range codecs() {
		sloppy := c
		sloppy.again = func(b []byte) ([]byte, error) {
			for n := len(b); n > 0; n-- {
				if got, err := c.again(b[:n]); err == nil {
					return got, nil
				}
			}
			return nil, errField
		}
		if !propertyFails(sloppy) {
			t.Errorf("%s: a decoder that ignores trailing bytes was not noticed", c.name)
		}
		if propertyFails(c) {
			t.Errorf("%s: the property fails without a bug", c.name)
		}
	}
}

func propertyFails(c codec) bool {
	for i := range c.sample {
		for bit := range 8 {
			b := bytes.Clone(c.sample)
			b[i] ^= 1 << bit
			if roundTrip(c, b) != nil || roundTrip(c, append(b, 0)) != nil {
				return true
			}
		}
	}
	return roundTrip(c, append(bytes.Clone(c.sample), 0xff)) != nil
}
