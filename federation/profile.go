package federation

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"fleetrelay/hub/wire"
)

// Receipts is how far receipts go across a link. The zero value is none. A
// number that is not listed counts as none: it never widens anything.
type Receipts int

// The values, each including those before it.
const (
	ReceiptsNone      Receipts = iota // no receipt crosses
	ReceiptsImmediate                 // the first verdict does
	ReceiptsDeferred                  // later verdicts do too
)

// String is the word of the wire.
func (r Receipts) String() string {
	switch r {
	case ReceiptsImmediate:
		return "immediate"
	case ReceiptsDeferred:
		return "deferred"
	default:
		return "none"
	}
}

// ParseReceipts reads a word of the wire; any that is not known is none.
func ParseReceipts(word string) Receipts {
	for r := ReceiptsDeferred; r > ReceiptsNone; r-- {
		if r.String() == word {
			return r
		}
	}
	return ReceiptsNone
}

// Ceiling is the most that one side offers: what its build can do, lowered by
// its operator. The zero value offers nothing.
type Ceiling struct {
	Chat          bool
	Receipts      Receipts
	Roster        bool
	MaxBodyBytes  uint64 // of one body
	MaxFrameBytes uint64 // of one link frame's payload
	MaxHops       uint64
}

// frameRoom is what the payload of a frame holds beside the largest body: the
// record's origin block.
const frameRoom = 64 << 10

// BuildCeiling is what this build offers when its agents take messages of
// maxBody bytes.
func BuildCeiling(maxBody int) Ceiling {
	size := uint64(max(maxBody, 0))
	return Ceiling{
		Chat: true, Receipts: ReceiptsDeferred, MaxBodyBytes: size, MaxFrameBytes: size + frameRoom, MaxHops: 1,
	}
}

// IsMember says whether a profile of this build has a member of that name.
func IsMember(name string) bool {
	return slices.ContainsFunc(Ceiling{}.rows(), func(r row) bool { return r.name == name })
}

// Profile is what two hubs agreed on: a relay version, which owns the list of
// members, and the lower of both ceilings in each.
type Profile struct {
	Version int
	Ceiling
}

// Admit agrees on a profile. It does not depend on the order of the two, and no
// member is wider than either side's.
func Admit(version int, ours, theirs Ceiling) Profile {
	return Profile{version, Ceiling{
		Chat:          ours.Chat && theirs.Chat,
		Receipts:      min(ours.Receipts.known(), theirs.Receipts.known()),
		Roster:        ours.Roster && theirs.Roster,
		MaxBodyBytes:  min(ours.MaxBodyBytes, theirs.MaxBodyBytes),
		MaxFrameBytes: min(ours.MaxFrameBytes, theirs.MaxFrameBytes),
		MaxHops:       min(ours.MaxHops, theirs.MaxHops),
	}}
}

func (r Receipts) known() Receipts {
	if r < ReceiptsNone || r > ReceiptsDeferred {
		return ReceiptsNone
	}
	return r
}

// profileText is the canonical form of a profile: these members in the order of
// their names.
type profileText struct {
	Chat          bool   `json:"chat"`
	MaxBodyBytes  uint64 `json:"max_body_bytes"`
	MaxFrameBytes uint64 `json:"max_frame_bytes"`
	MaxHops       uint64 `json:"max_hops"`
	Receipts      string `json:"receipts"`
	RelayVersion  int    `json:"relay_version"`
	Roster        bool   `json:"roster"`
}

// Canonical is the profile as one line of JSON, members sorted by name.
func (p Profile) Canonical() []byte {
	b, err := wire.Marshal(profileText{
		Chat: p.Chat, MaxBodyBytes: p.MaxBodyBytes, MaxFrameBytes: p.MaxFrameBytes, MaxHops: p.MaxHops,
		Receipts: p.Receipts.String(), RelayVersion: p.Version, Roster: p.Roster,
	})
	if err != nil {
		panic(fmt.Sprintf("federation: a profile that is no JSON: %v", err))
	}
	return b
}

// Digest is the SHA-256 of the canonical form. Both sides compute it and
// compare.
func (p Profile) Digest() [32]byte { return sha256.Sum256(p.Canonical()) }

// Member is one member of a profile and where its value comes from.
type Member struct {
	Name string
	// Value is what holds, Ours and Theirs what each side offered.
	Value, Ours, Theirs string
	// Lower is "ours" or "theirs", the side that offered less, "" if neither.
	Lower string
}

// Explain lists the members of the profile that [Admit] makes of two ceilings,
// in the order of their names.
func Explain(ours, theirs Ceiling) []Member {
	agreed := Admit(0, ours, theirs).rows()
	a, b := ours.rows(), theirs.rows()
	list := make([]Member, len(agreed))
	for i, r := range agreed {
		list[i] = Member{Name: r.name, Value: r.text, Ours: a[i].text, Theirs: b[i].text}
		switch {
		case a[i].rank < b[i].rank:
			list[i].Lower = "ours"
		case a[i].rank > b[i].rank:
			list[i].Lower = "theirs"
		}
	}
	return list
}

// row is one member as a text and as a number that is higher the wider it is.
type row struct {
	name, text string
	rank       uint64
}

func (c Ceiling) rows() []row {
	return []row{
		flag("chat", c.Chat),
		number("max_body_bytes", c.MaxBodyBytes),
		number("max_frame_bytes", c.MaxFrameBytes),
		number("max_hops", c.MaxHops),
		{"receipts", c.Receipts.String(), uint64(c.Receipts.known())},
		flag("roster", c.Roster),
	}
}

func flag(name string, on bool) row {
	if on {
		return row{name, "yes", 1}
	}
	return row{name, "no", 0}
}

func number(name string, n uint64) row { return row{name, strconv.FormatUint(n, 10), n} }
