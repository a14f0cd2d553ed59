package frame

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"testing"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"

	"github.com/google/go-cmp/cmp"
)

// parseFrame parses f by its type.
func parseFrame(f Frame) (any, error) {
	switch f.Type {
	case wire.LinkHello:
		h, _, err := ParseHello(f, Speaks(0))
		return h, err
	case wire.LinkRecords:
		return ParseRecords(f)
	case wire.LinkAck:
		return ParseAck(f)
	case wire.LinkBye:
		return ParseBye(f)
	case wire.LinkProfile:
		return ParseProfile(f)
	case wire.LinkBeat:
		return ParseBeat(f)
	}
	return nil, errors.New("no parser")
}

// appendFrame appends what parseFrame returned.
func appendFrame(v any) []byte {
	switch v := v.(type) {
	case Hello:
		return v.Append(nil)
	case Ack:
		return v.Append(nil)
	case Bye:
		return v.Append(nil)
	case Profile:
		return v.Append(nil)
	case Beat:
		return v.Append(nil)
	case Records:
		return appendRecords(v)
	}
	return nil
}

// appendRecords builds the frame of raw records, whatever is in their origin blocks.
func appendRecords(rs Records) []byte {
	b := Batch{first: rs.First}
	for _, r := range rs.Items {
		b.origins = append(b.origins, r.Origin...)
		b.sizes = append(b.sizes, len(r.Origin), len(r.Body))
		b.bodies = append(b.bodies, r.Body)
		b.payload += len(r.Origin) + len(r.Body)
	}
	return b.Append(nil)
}

func id16(first byte) (id [16]byte) {
	for i := range id {
		id[i] = first + byte(i)
	}
	return id
}

const (
	body1 = `{"payload":"hello"}`
	body2 = `{"n":1.50,"payload":"é"}`
)

func origin1() Origin {
	return Origin{
		Hub: "alpha.example", Epoch: 1, EpochID: id16(0xa0), Seq: 42, MsgID: 542, AcceptedUS: 1796063246832343,
		Sender: "demo/alice", Principal: "token:t1", Target: "demo/bob@beta.example", ClientMsgID: "m-42",
		Digest: sha256.Sum256([]byte(body1)),
	}
}

func origin2() Origin {
	o := origin1()
	o.Seq, o.MsgID, o.ClientMsgID, o.Principal, o.Digest = 43, 543, "", "open", sha256.Sum256([]byte(body2))
	o.Sender = "demo/\"q\"\\é\n"
	return o
}

func helloGolden() Hello {
	h := Hello{
		Versions: Versions{1, 1}, Hub: "alpha.example", Instance: id16(0), Link: 7, Epoch: 1, EpochID: id16(0xa0),
		In: Position{EpochID: id16(0xb0), Seq: 41}, Out: Extent{Head: 99, Acked: 90}, Offer: federation.BuildCeiling(1 << 20),
	}
	copy(h.In.Hash[:], bytes.Repeat([]byte{0xc0}, 32))
	return h
}

func helloReconciled() Hello {
	h := helloGolden()
	h.Epoch, h.EpochID, h.Base.Seq = 2, id16(0xd0), 90
	copy(h.Base.Hash[:], bytes.Repeat([]byte{0xe0}, 32))
	h.Offer.Receipts = federation.ReceiptsNone
	return h
}

func recordsGolden() Records {
	o1, o2 := origin1(), origin2()
	return Records{First: 42, Items: []Record{
		{o1.Append(nil), []byte(body1)},
		{o2.Append(nil), []byte(body2)},
	}}
}

func golden() map[string]any {
	return map[string]any{
		"frame-hello": helloGolden(),
		"frame-hello-first": Hello{
			Versions: Versions{1, 1}, Hub: "alpha.example", Instance: id16(0), Link: 1, Epoch: 1, EpochID: id16(0xa0),
			Offer: federation.BuildCeiling(1 << 20),
		},
		"frame-hello-reconciled": helloReconciled(),
		"frame-profile":          Profile{Digest: federation.Admit(1, helloGolden().Offer, helloReconciled().Offer).Digest()},
		"frame-beat":             Beat{TimeUS: 1796063246832343, EchoUS: 1796063246432001, HeldUS: 399_812},
		"frame-beat-first":       Beat{TimeUS: 1796063246832343},
		"frame-ack":              Ack{Seq: 1024},
		"frame-ack-refused":      Ack{Seq: 12, Refused: []Refused{{5, wire.ReasonNotPermitted}, {12, wire.ReasonDigestMismatch}}},
		"frame-bye":              Bye{wire.ReasonHubShutdown},
		"frame-records":          recordsGolden(),
	}
}

func TestGoldenFrames(t *testing.T) {
	for name, want := range golden() {
		t.Run(name, func(t *testing.T) {
			in := vectorNamed(t, name).bytes(t)
			if diff := cmp.Diff(string(in), string(appendFrame(want))); diff != "" {
				t.Errorf("appended (-vector +ours):\n%s", diff)
			}
			f, err := NewReader(bytes.NewReader(in), 1<<20).Next()
			if err != nil {
				t.Fatal(err)
			}
			got, err := parseFrame(f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("parsed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBatchBuildsTheGoldenRecords(t *testing.T) {
	var b Batch
	for range 2 { // the second time on used memory
		b.Reset(42)
		o1, o2 := origin1(), origin2()
		b.Add(&o1, []byte(body1))
		b.Add(&o2, []byte(body2))
		if b.Len() != 2 {
			t.Fatalf("%d records", b.Len())
		}
		want := vectorNamed(t, "frame-records").bytes(t)
		if diff := cmp.Diff(string(want), string(b.Append(nil))); diff != "" {
			t.Fatalf("-vector +ours:\n%s", diff)
		}
	}
}

func TestBatchStopsWhenTheWriterFails(t *testing.T) {
	var b Batch
	b.Reset(1)
	o := origin1()
	b.Add(&o, []byte(body1))
	for n := range 3 {
		calls := 0
		err := b.Chunks(func([]byte) error {
			if calls++; calls > n {
				return io.ErrClosedPipe
			}
			return nil
		})
		if !errors.Is(err, io.ErrClosedPipe) || calls != n+1 {
			t.Errorf("writer failing at call %d: %v after %d calls", n, err, calls)
		}
	}
}

func TestGoldenOrigin(t *testing.T) {
	want := origin1()
	in := vectorNamed(t, "origin-plain").bytes(t)
	if got := want.Append(nil); !bytes.Equal(got, in) {
		t.Errorf("appended %s", got)
	}
	var p OriginParser
	for range 2 { // the second time with kept names
		got, err := p.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// Every truncation of every good vector is an error, and of a stream always the one that says so.
func TestTruncations(t *testing.T) {
	for _, v := range vectors(t) {
		if v.fields["expect"] != "ok" {
			continue
		}
		in := v.bytes(t)
		for n := range len(in) {
			err := parseAny(v.fields["kind"], in[:n:n], v.ceiling(t))
			switch got := outcome(err); {
			case err == nil:
				t.Errorf("%s cut at %d was accepted", v.name, n)
			case v.fields["kind"] == "frame" && n == 0 && got != "end",
				v.fields["kind"] == "frame" && n > 0 && got != "cut":
				t.Errorf("%s cut at %d: %v", v.name, n, err)
			}
		}
	}
}

// A hostile length costs nothing: it is refused before anything is allocated for it.
func TestLengthsAreJudgedBeforeAllocating(t *testing.T) {
	in := []byte{0, 0, 0, 16, 0xff, 0xff, 0xff, 0xff}
	src := bytes.NewReader(in)
	r := NewReader(src, 1<<20)
	allocs := testing.AllocsPerRun(100, func() {
		src.Reset(in)
		r.src.Reset(src)
		if _, err := r.Next(); outcome(err) != "frame_too_large" {
			t.Fatal(err)
		}
	})
	if allocs > 10 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestPayloadCeilingIsExact(t *testing.T) {
	o := origin1()
	for _, c := range []struct {
		body int
		want string
	}{{1000 - 1, "ok"}, {1000, "ok"}, {1001, "frame_too_large"}} {
		var b Batch
		b.Reset(42)
		b.Add(&o, bytes.Repeat([]byte("x"), c.body))
		ceiling := 1000 + len(o.Append(nil))
		_, err := NewReader(bytes.NewReader(b.Append(nil)), ceiling).Next()
		if got := outcome(err); got != c.want {
			t.Errorf("body of %d: %s, want %s", c.body, got, c.want)
		}
	}
	if largest := PayloadCeiling(1000); largest < 1000+MaxOrigin {
		t.Errorf("ceiling %d does not hold the largest record", largest)
	}
}

// The largest origin block that Check lets pass fits into what a receiver takes.
func TestLargestOriginFits(t *testing.T) {
	o := origin1()
	name := string(bytes.Repeat([]byte{1}, MaxName)) // six bytes each when escaped
	o.Sender, o.Principal, o.Target, o.ClientMsgID = name, name, name, name
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	b := o.Append(nil)
	if len(b) > MaxOrigin {
		t.Errorf("%d bytes", len(b))
	}
	if _, err := new(OriginParser).Parse(b); err != nil {
		t.Error(err)
	}
}

// The largest ack fits into a header.
func TestLargestAckFits(t *testing.T) {
	a := Ack{Seq: maxNumber - 1}
	for i := range MaxRefused {
		a.Refused = append(a.Refused, Refused{maxNumber - MaxRefused + uint64(i), wire.Reason(bytes.Repeat([]byte("r"), maxReason))})
	}
	f, err := NewReader(bytes.NewReader(a.Append(nil)), 0).Next()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseAck(f); err != nil || len(got.Refused) != MaxRefused {
		t.Errorf("%d refusals, %v", len(got.Refused), err)
	}
	own := Ack{Seq: 1, Refused: []Refused{{1, wire.ReasonRelayExpired}}}
	if f, err = NewReader(bytes.NewReader(own.Append(nil)), 0).Next(); err != nil {
		t.Fatal(err)
	}
	if _, err = ParseAck(f); outcome(err) != "link_protocol" {
		t.Errorf("a word that is the origin's: %v", err)
	}
	a.Refused = append([]Refused{{1, "r"}}, a.Refused...)
	if f, err = NewReader(bytes.NewReader(a.Append(nil)), 0).Next(); err != nil {
		return // too long for a header is as good
	}
	if _, err = ParseAck(f); outcome(err) != "link_protocol" {
		t.Errorf("one refusal too many: %v", err)
	}
}

func TestChooseVersion(t *testing.T) {
	for _, c := range []struct {
		ours, theirs Versions
		want         Version
	}{
		{Versions{1, 1}, Versions{1, 1}, 1},
		{Versions{1, 3}, Versions{2, 5}, 3},
		{Versions{2, 5}, Versions{1, 3}, 3},
		{Versions{1, 3}, Versions{2, 2}, 2},
		{Versions{1, 1}, Versions{2, 3}, 0},
		{Versions{2, 3}, Versions{1, 1}, 0},
	} {
		got, err := c.ours.Choose(c.theirs)
		if got != c.want || (c.want == 0) != (outcome(err) == "relay_version") {
			t.Errorf("%v with %v: %d, %v", c.ours, c.theirs, got, err)
		}
	}
	_, err := Versions{1, 1}.Choose(Versions{2, 3})
	if want := "relay_version: this hub speaks relay versions 1..1, the peer 2..3"; err.Error() != want {
		t.Errorf("%q names not both ranges", err)
	}
	if got := Speaks(99); got.Max != NewestVersion {
		t.Errorf("speaks %v", got)
	}
}
