package federation

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func ceilings(t *rapid.T, name string) Ceiling {
	size := rapid.SampledFrom([]uint64{0, 1, 1024, 1 << 20, 1<<53 - 1})
	return Ceiling{
		Chat: rapid.Bool().Draw(t, name+" chat"), Receipts: Receipts(rapid.IntRange(-1, 4).Draw(t, name+" receipts")), Roster: rapid.Bool().Draw(t, name+" roster"),
		MaxBodyBytes: size.Draw(t, name+" body"), MaxFrameBytes: size.Draw(t, name+" frame"), MaxHops: size.Draw(t, name+" hops"),
	}
}

// within tells whether a is no wider than b in any member.
func within(a, b Ceiling) bool {
	return (!a.Chat || b.Chat) && a.Receipts.known() <= b.Receipts.known() && (!a.Roster || b.Roster) &&
		a.MaxBodyBytes <= b.MaxBodyBytes && a.MaxFrameBytes <= b.MaxFrameBytes && a.MaxHops <= b.MaxHops
}

// TestProfiles: commutative, idempotent, monotone, and never wider than an
// input; a value that is not known is none.
func TestProfiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := ceilings(t, "a"), ceilings(t, "b"), ceilings(t, "c")
		p := Admit(1, a, b)
		if back := Admit(1, b, a); back != p || back.Digest() != p.Digest() {
			t.Fatalf("%+v one way, %+v the other", p, back)
		}
		if !within(p.Ceiling, a) || !within(p.Ceiling, b) {
			t.Fatalf("%+v of %+v and %+v is wider than one", p, a, b)
		}
		if again := Admit(1, p.Ceiling, b); again != p {
			t.Fatalf("admitted again: %+v, was %+v", again, p)
		}
		lower := Admit(1, a, c).Ceiling
		if !within(Admit(1, lower, b).Ceiling, p.Ceiling) {
			t.Fatal("a lower ceiling made a wider profile")
		}
		if other := Admit(2, a, b); other.Digest() == p.Digest() {
			t.Fatal("two versions have one digest")
		}
		if q := Admit(1, c, c); q != p && q.Digest() == p.Digest() {
			t.Fatalf("%+v and %+v have one digest", p, q)
		}
	})
}

func TestExplain(t *testing.T) {
	ours := Ceiling{Chat: true, Receipts: ReceiptsDeferred, MaxBodyBytes: 100, MaxFrameBytes: 200, MaxHops: 1}
	theirs := Ceiling{Chat: true, Receipts: ReceiptsImmediate, Roster: true, MaxBodyBytes: 100, MaxFrameBytes: 300, MaxHops: 1}
	want := []Member{
		{"chat", "yes", "yes", "yes", ""},
		{"max_body_bytes", "100", "100", "100", ""},
		{"max_frame_bytes", "200", "200", "300", "ours"},
		{"max_hops", "1", "1", "1", ""},
		{"receipts", "immediate", "deferred", "immediate", "theirs"},
		{"roster", "no", "no", "yes", "ours"},
	}
	if diff := cmp.Diff(want, Explain(ours, theirs)); diff != "" {
		t.Error(diff)
	}
	const canonical = `{"chat":true,"max_body_bytes":100,"max_frame_bytes":200,"max_hops":1,"receipts":"immediate","relay_version":1,"roster":false}`
	p := Admit(1, ours, theirs)
	if got := string(p.Canonical()); got != canonical {
		t.Errorf("canonical form is %s", got)
	}
	digest := p.Digest()
	if got := hex.EncodeToString(digest[:4]); got != "25f6c247" {
		t.Errorf("digest begins with %s", got)
	}
}

func TestReceiptWords(t *testing.T) {
	for _, r := range []Receipts{ReceiptsNone, ReceiptsImmediate, ReceiptsDeferred} {
		if ParseReceipts(r.String()) != r {
			t.Errorf("%v is not read back", r)
		}
	}
	for _, word := range []string{"", "all", "Deferred", "deferred "} {
		if got := ParseReceipts(word); got != ReceiptsNone {
			t.Errorf("%q is %v", word, got)
		}
	}
}
