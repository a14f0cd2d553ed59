package federation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fleetrelay/hub/wire"
)

func pin(n uint64) (p Pin) {
	binary.BigEndian.PutUint64(p[:], n)
	return p
}

func patterns(texts ...string) (list []wire.Pattern) {
	for _, text := range texts {
		p, err := wire.ParsePattern(text)
		if err != nil {
			panic(err)
		}
		list = append(list, p)
	}
	return list
}

func TestAdmitInbound(t *testing.T) {
	trust := NewTrust("a.example", []Peer{
		{Hub: "b.example", Pins: []Pin{pin(1)}, MayReach: patterns("ops/*", "front?desk")},
		{Hub: "c.example", Pins: []Pin{pin(2)}, MayReach: patterns("*")},
		{Hub: "mute.example", Pins: []Pin{pin(3)}},
	})
	tests := []struct {
		from wire.HubID
		seat string
		why  wire.Reason
	}{
		{"b.example", "ops/deploy", ""},
		{"b.example", "front-desk", ""},
		{"b.example", "ops", wire.ReasonNotPermitted},
		{"b.example", "ops/a/b", wire.ReasonNotPermitted},
		{"b.example", "Ops/deploy", wire.ReasonNotPermitted},
		{"b.example", "frontdesk", wire.ReasonNotPermitted},
		{"b.example", "front/desk", wire.ReasonNotPermitted},
		{"b.example", "ops/", wire.ReasonNotPermitted},
		{"b.example", "", wire.ReasonNotPermitted},
		{"b.example", "ops/deploy@a.example", wire.ReasonNotPermitted},
		{"c.example", "anyone", ""},
		{"c.example", "ops/deploy", wire.ReasonNotPermitted},
		{"mute.example", "anyone", wire.ReasonNotPermitted},
		{"B.example", "ops/deploy", wire.ReasonUnknownPeer},
		{"x.example", "ops/deploy", wire.ReasonUnknownPeer},
		{"a.example", "ops/deploy", wire.ReasonUnknownPeer},
		{"", "ops/deploy", wire.ReasonUnknownPeer},
	}
	for _, test := range tests {
		ok, why := trust.AdmitInbound(test.from, test.seat)
		if ok != (test.why == "") || why != test.why {
			t.Errorf("%s to %q: %v %q, want %q", test.from, test.seat, ok, why, test.why)
		}
	}
}

func TestAdmitOutbound(t *testing.T) {
	trust := NewTrust("a.example", []Peer{{Hub: "b.example", Pins: []Pin{pin(1)}}, {Hub: "c.example", Pins: []Pin{pin(2)}}})
	tests := []struct {
		to      wire.HubID
		address wire.Address
		why     wire.Reason
	}{
		{"b.example", wire.Address{Name: "ops/deploy", Hub: "b.example"}, ""},
		{"b.example", wire.Address{Name: "ops/deploy", Hub: "c.example"}, wire.ReasonNotPermitted},
		{"b.example", wire.Address{Name: "ops/deploy"}, wire.ReasonNotPermitted},
		{"b.example", wire.Address{Hub: "b.example"}, wire.ReasonNotPermitted},
		{"B.example", wire.Address{Name: "ops/deploy", Hub: "B.example"}, wire.ReasonUnknownHub},
		{"x.example", wire.Address{Name: "ops/deploy", Hub: "x.example"}, wire.ReasonUnknownHub},
		{"a.example", wire.Address{Name: "ops/deploy", Hub: "a.example"}, wire.ReasonUnknownHub},
		{"", wire.Address{Name: "ops/deploy"}, wire.ReasonUnknownHub},
	}
	for _, test := range tests {
		ok, why := trust.AdmitOutbound(test.to, test.address)
		if ok != (test.why == "") || why != test.why {
			t.Errorf("%v by %s: %v %q, want %q", test.address, test.to, ok, why, test.why)
		}
	}
}

func TestCheckNewPeer(t *testing.T) {
	trust := NewTrust("hub-one.example", []Peer{{Hub: "Roll.example", Pins: []Pin{pin(1), pin(2)}, MayReach: patterns("*")}})
	good := Peer{Hub: "new.example", Pins: []Pin{pin(9)}, MayReach: patterns("ops/*")}
	change := func(f func(*Peer)) Peer {
		p := good.clone()
		f(&p)
		return p
	}
	named := func(hub wire.HubID) Peer { return change(func(p *Peer) { p.Hub = hub }) }
	tests := map[string]struct {
		peer Peer
		want wire.Reason
	}{
		"right":            {good, ""},
		"no id":            {named(""), wire.ReasonInvalidHubID},
		"bad id":           {named("new/example"), wire.ReasonInvalidHubID},
		"self":             {named("hub-one.example"), wire.ReasonOwnHubID},
		"self folded":      {named("HUB-ONE.example"), wire.ReasonOwnHubID},
		"self look-alike":  {named("hub_one.example"), wire.ReasonOwnHubID},
		"taken":            {named("Roll.example"), wire.ReasonHubIDTaken},
		"taken folded":     {named("roll.EXAMPLE"), wire.ReasonHubIDTaken},
		"taken look-alike": {named("Ro1l.example"), wire.ReasonHubIDTaken},
		"no pins":          {change(func(p *Peer) { p.Pins = nil }), wire.ReasonPinsMissing},
		"zero pin":         {change(func(p *Peer) { p.Pins = []Pin{{}} }), wire.ReasonInvalidPin},
		"pin twice":        {change(func(p *Peer) { p.Pins = []Pin{pin(9), pin(9)} }), wire.ReasonInvalidPin},
		"pin of another":   {change(func(p *Peer) { p.Pins = []Pin{pin(9), pin(2)} }), wire.ReasonPinTaken},
		"no patterns":      {change(func(p *Peer) { p.MayReach = nil }), wire.ReasonPatternsMissing},
		"empty pattern":    {change(func(p *Peer) { p.MayReach = []wire.Pattern{{}} }), wire.ReasonInvalidPattern},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := CheckNewPeer(trust, test.peer)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			refusal, ok := errors.AsType[*Refusal](err)
			if !ok || refusal.Reason != test.want || refusal.Text == "" {
				t.Fatalf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestSnapshotsDoNotChange holds on to a snapshot while everything around it
// changes.
func TestSnapshotsDoNotChange(t *testing.T) {
	given := []Peer{{Hub: "b.example", Pins: []Pin{pin(1)}, MayReach: patterns("ops/*")}}
	trust := NewTrust("a.example", given)
	before := fmt.Sprint(trust.Peers())
	given[0].Pins[0], given[0].MayReach[0] = pin(7), patterns("*")[0]
	got, _ := trust.Peer("b.example")
	got.Pins[0], got.MayReach[0] = pin(7), patterns("*")[0]
	list := trust.Peers()
	list[0].Pins[0], list[0].MayReach[0] = pin(7), patterns("*")[0]
	next := trust.With(Peer{Hub: "b.example", Pins: []Pin{pin(8)}}).With(Peer{Hub: "c.example", Pins: []Pin{pin(9)}})
	if after := fmt.Sprint(trust.Peers()); after != before {
		t.Fatalf("was %s, is %s", before, after)
	}
	if _, ok := trust.HubOf(pin(9)); ok {
		t.Error("a later peer got into an earlier snapshot")
	}
	if _, ok := next.HubOf(pin(1)); ok {
		t.Error("a replaced key is still trusted")
	}
	if hub, ok := next.HubOf(pin(8)); !ok || hub != "b.example" {
		t.Errorf("the new key belongs to %q", hub)
	}
}

func TestKeyOfTwoHubsProvesNeither(t *testing.T) {
	trust := NewTrust("a.example", []Peer{{Hub: "b.example", Pins: []Pin{pin(1)}}, {Hub: "c.example", Pins: []Pin{pin(1), pin(2)}}, {Hub: "d.example", Pins: []Pin{pin(1)}}})
	if hub, ok := trust.HubOf(pin(1)); ok {
		t.Errorf("the shared key belongs to %q", hub)
	}
	if hub, _ := trust.HubOf(pin(2)); hub != "c.example" {
		t.Errorf("the other key belongs to %q", hub)
	}
}

// world draws peers that CheckNewPeer takes, from small alphabets so that
// patterns and names meet often.
func world(t *rapid.T) *Trust {
	trust := NewTrust("self.example", nil)
	for i := range rapid.IntRange(0, 4).Draw(t, "peers") {
		p := newPeer(t, i)
		if err := CheckNewPeer(trust, p); err != nil {
			t.Fatal(err)
		}
		trust = trust.With(p)
	}
	return trust
}

func newPeer(t *rapid.T, i int) Peer {
	p := Peer{Hub: wire.HubID(fmt.Sprintf("p%d.example", 2+i)), Pins: []Pin{pin(uint64(2*i) + 1), pin(uint64(2*i) + 2)}}
	p.MayReach = patterns(rapid.SliceOfN(rapid.StringMatching(`[ab*?]{1,3}(/[ab*?]{1,3})?`), 1, 4).Draw(t, "patterns")...)
	return p
}

var seats = rapid.StringMatching(`[abA@*]{0,4}(/[ab@]{0,3}){0,2}`)

// TestAdmittedIffSomePatternMatches compares with the rule as it is written.
func TestAdmittedIffSomePatternMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trust, seat := world(t), seats.Draw(t, "seat")
		for _, p := range trust.Peers() {
			want := slices.ContainsFunc(p.MayReach, func(p wire.Pattern) bool { return naive(p.String(), seat) })
			if ok, _ := trust.AdmitInbound(p.Hub, seat); ok != want {
				t.Fatalf("%s with %v to %q: %v", p.Hub, p.MayReach, seat, ok)
			}
		}
	})
}

// naive matches a pattern by trying every way, on the parts of the name.
func naive(pattern, name string) bool {
	if strings.Contains(name, "@") {
		return false
	}
	pp, np := strings.Split(pattern, "/"), strings.Split(name, "/")
	return slices.EqualFunc(pp, np, func(p, n string) bool { return n != "" && naivePart(p, n) })
}

func naivePart(p, n string) bool {
	if p == "" || n == "" {
		return p == n || strings.Trim(p, "*") == "" && n == ""
	}
	if p[0] == '*' {
		return naivePart(p[1:], n) || naivePart(p, n[1:])
	}
	return (p[0] == '?' || p[0] == n[0]) && naivePart(p[1:], n[1:])
}

// TestAddingAPeerChangesNoOther asks everything of everyone before and after.
func TestAddingAPeerChangesNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trust, names := world(t), rapid.SliceOfN(seats, 1, 8).Draw(t, "seats")
		before := answers(trust, trust.Peers(), names)
		added := newPeer(t, 7)
		after := answers(trust.With(added), trust.Peers(), names)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	})
}

func answers(trust *Trust, peers []Peer, names []string) (list []string) {
	for _, p := range peers {
		pins, known := trust.PinsOf(string(p.Hub))
		list = append(list, fmt.Sprint(p.Hub, pins, known))
		for _, pin := range p.Pins {
			hub, ok := trust.HubOf(pin)
			list = append(list, fmt.Sprint(hub, ok))
		}
		for _, name := range names {
			in, why := trust.AdmitInbound(p.Hub, name)
			out, whyOut := trust.AdmitOutbound(p.Hub, wire.Address{Name: name, Hub: p.Hub})
			list = append(list, fmt.Sprint(p.Hub, name, in, why, out, whyOut))
		}
	}
	return list
}

// TestFoldedIDsAreNobody changes the letter case of a peer's id at random.
func TestFoldedIDsAreNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[a-z][a-z0-9._-]{0,20}`).Draw(t, "id")
		trust := NewTrust("self.example", []Peer{{Hub: wire.HubID(id), Pins: []Pin{pin(1)}, MayReach: patterns("*")}})
		folded := []byte(id)
		at := rapid.IntRange(0, len(id)-1).Draw(t, "at")
		folded[at] = strings.ToUpper(id)[at]
		if string(folded) == id {
			return
		}
		other := wire.HubID(folded)
		if ok, _ := trust.AdmitInbound(other, "seat"); ok {
			t.Fatalf("%s passes as %s", other, id)
		}
		if ok, _ := trust.AdmitOutbound(other, wire.Address{Name: "seat", Hub: other}); ok {
			t.Fatalf("%s is reached as %s", id, other)
		}
		err := CheckNewPeer(trust, Peer{Hub: other, Pins: []Pin{pin(2)}, MayReach: patterns("*")})
		if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Reason != wire.ReasonHubIDTaken {
			t.Fatalf("%s beside %s: %v", other, id, err)
		}
	})
}

// A peer can be changed under its own id; what another holds stays taken.
func TestChangedPeer(t *testing.T) {
	made := func(hub wire.HubID, n uint64, pattern string) Peer {
		return Peer{Hub: hub, Pins: []Pin{pin(n)}, MayReach: patterns(pattern)}
	}
	trust := NewTrust("a.example", []Peer{made("birch", 1, "a/*"), made("oak", 2, "a/*")})
	tests := map[string]struct {
		peer Peer
		want wire.Reason
	}{
		"other patterns":     {made("birch", 1, "b/*"), ""},
		"another pin":        {made("birch", 3, "a/*"), ""},
		"the pin of another": {made("birch", 2, "a/*"), wire.ReasonPinTaken},
		"nobody":             {made("elm", 4, "a/*"), wire.ReasonUnknownHub},
		"only a like id":     {made("BIRCH", 1, "a/*"), wire.ReasonUnknownHub},
	}
	for name, tt := range tests {
		err := CheckChangedPeer(trust, tt.peer)
		var r *Refusal
		if errors.As(err, &r); (tt.want == "") != (err == nil) || (r != nil && r.Reason != tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
