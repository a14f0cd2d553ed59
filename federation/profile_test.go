package federation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func drawCeiling(t *rapid.T, label string) Ceiling {
	size := rapid.Uint64Range(0, 4)
	return Ceiling{
		Chat: rapid.Bool().Draw(t, label+" chat"), Receipts: Receipts(rapid.IntRange(0, 2).Draw(t, label+" receipts")),
		Roster: rapid.Bool().Draw(t, label+" roster"), MaxBodyBytes: size.Draw(t, label+" body"),
		MaxFrameBytes: size.Draw(t, label+" frame"), MaxHops: size.Draw(t, label+" hops"),
	}
}

// inside says that a admits nothing that b does not.
func inside(a, b Ceiling) bool {
	return (b.Chat || !a.Chat) && a.Receipts <= b.Receipts && (b.Roster || !a.Roster) &&
		a.MaxBodyBytes <= b.MaxBodyBytes && a.MaxFrameBytes <= b.MaxFrameBytes && a.MaxHops <= b.MaxHops
}

// TestProfileIsTheLowestCommon holds the rules for every pair of ceilings: the
// same from both sides, never wider than an input, no narrower than both allow,
// and no wider when an input gets narrower.
func TestProfileIsTheLowestCommon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawCeiling(t, "a"), drawCeiling(t, "b"), drawCeiling(t, "c")
		p := Admit(1, a, b)
		if p != Admit(1, b, a) || p.Digest() != Admit(1, b, a).Digest() {
			t.Fatalf("%+v and %+v depend on who asks", a, b)
		}
		if !inside(p.Ceiling, a) || !inside(p.Ceiling, b) {
			t.Fatalf("%+v is wider than %+v or %+v", p, a, b)
		}
		if inside(c, a) && inside(c, b) && !inside(c, p.Ceiling) {
			t.Fatalf("%+v is narrower than %+v and %+v need", p, a, b)
		}
		if low := Admit(1, a, c); !inside(Admit(1, low.Ceiling, b).Ceiling, p.Ceiling) {
			t.Fatalf("%+v admits more than %+v", low, a)
		}
		if Admit(1, a, a).Ceiling != a {
			t.Fatalf("%+v does not admit itself", a)
		}
	})
}

// TestDigestTellsProfilesApart compares digests with the profiles themselves.
func TestDigestTellsProfilesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Profile{rapid.IntRange(1, 3).Draw(t, "version"), drawCeiling(t, "a")}
		q := Profile{rapid.IntRange(1, 3).Draw(t, "other version"), drawCeiling(t, "b")}
		if (p == q) != (p.Digest() == q.Digest()) {
			t.Fatalf("%+v and %+v", p, q)
		}
	})
}

// TestExplainNamesTheLowerSide also holds the values to those of Admit.
func TestExplainNamesTheLowerSide(t *testing.T) {
	ours, theirs := BuildCeiling(1000), BuildCeiling(2000)
	theirs.Receipts = ReceiptsImmediate
	want := []Member{
		{"chat", "yes", "yes", "yes", ""},
		{"max_body_bytes", "1000", "1000", "2000", "ours"},
		{"max_frame_bytes", "66536", "66536", "67536", "ours"},
		{"max_hops", "1", "1", "1", ""},
		{"receipts", "immediate", "deferred", "immediate", "theirs"},
		{"roster", "no", "no", "no", ""},
	}
	if diff := cmp.Diff(want, Explain(ours, theirs)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, m := range want {
		if !IsMember(m.Name) {
			t.Errorf("%s is no member", m.Name)
		}
	}
	if IsMember("delivery") || IsMember("") {
		t.Error("a member of no version so far")
	}
}
