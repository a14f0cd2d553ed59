package federation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fleetrelay/hub/wire"
)

var hubIDs = rapid.StringMatching(`[a-z][a-z0-9._-]{0,20}`)

func TestTokenIsStable(t *testing.T) {
	const want = "fleet1.eyJodWIiOiJhbHBoYS5leGFtcGxlIiwicGluIjoiMDAwMDAwMDAwMDAwMDAwNzAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCIsImVuZHBvaW50cyI6WyJyZWxheS5hbHBoYS5leGFtcGxlOjg4NzciLCJbMjAwMTpkYjg6OjFdOjg4NzciXSwic2VjcmV0IjoiMDEwMjAzMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJleHBpcmVzX3VzIjoxNzk2MDYzMjQ2ODMyMzQzfQ."
	got := invitation().Token()
	if !strings.HasPrefix(got, want) || len(got) != len(want)+8 {
		t.Fatalf("got %s", got)
	}
}

func TestTokensRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := Invitation{
			Hub: wire.HubID(hubIDs.Draw(t, "hub")), Pin: pin(rapid.Uint64Min(1).Draw(t, "pin")), ExpiresUS: rapid.Int64Range(1, 1<<53-1).Draw(t, "end"),
			Endpoints: rapid.SliceOfN(rapid.StringMatching(`[a-z][a-z0-9.-]{0,30}:[1-9][0-9]{0,3}`), 1, MaxEndpoints).Draw(t, "endpoints"),
		}
		copy(i.Secret[:], rapid.SliceOfN(rapid.ByteMin(1), InviteBytes, InviteBytes).Draw(t, "secret"))
		got, err := ParseToken(i.Token())
		if diff := cmp.Diff(i, got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	})
}

// TestLargestTokenIsRead: the bound on its text leaves room for every member at
// its largest.
func TestLargestTokenIsRead(t *testing.T) {
	i := invitation()
	i.Hub = wire.HubID(strings.Repeat("h", wire.MaxHubIDBytes))
	i.Endpoints = nil
	for range MaxEndpoints {
		i.Endpoints = append(i.Endpoints, strings.Repeat("e", MaxEndpointBytes-6)+":65535")
	}
	if _, err := ParseToken(i.Token()); err != nil {
		t.Fatal(err, len(i.Token()))
	}
}

// TestMangledTokens changes one letter at every place.
func TestMangledTokens(t *testing.T) {
	token := invitation().Token()
	for at := range token {
		mangled := []byte(token)
		mangled[at] = 'A'
		if mangled[at] == token[at] {
			mangled[at] = 'B'
		}
		if i, err := ParseToken(string(mangled)); err == nil {
			t.Errorf("letter %d: %v", at, i)
		}
		if _, err := ParseToken(token[:at]); err == nil {
			t.Errorf("cut at %d", at)
		}
	}
}

func TestCodeIsStable(t *testing.T) {
	if got := Code("beta.example", pin(1), "alpha.example", pin(2)); got != codeOfTwo {
		t.Errorf("got %s", got)
	}
}

// codeOfTwo was computed once by another implementation; both ends must agree
// whatever version they run.
const codeOfTwo = "MHD4-XFWZ-5RPB-JPVG"

// TestCodes: the same from both sides, another for any other pair, and read
// back however it is typed.
func TestCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := wire.HubID(hubIDs.Draw(t, "a")), wire.HubID(hubIDs.Draw(t, "b"))
		ap, bp := pin(rapid.Uint64().Draw(t, "ap")), pin(rapid.Uint64().Draw(t, "bp"))
		code := Code(a, ap, b, bp)
		if back := Code(b, bp, a, ap); back != code {
			t.Fatalf("%s from one side, %s from the other", code, back)
		}
		other := ap
		other[31] ^= 1
		if Code(a, other, b, bp) == code || Code(a+"x", ap, b, bp) == code {
			t.Fatal("another key or hub has the same code")
		}
		if a != b && ap != bp && Code(a, bp, b, ap) == code {
			t.Fatal("keys changed between the two have the same code")
		}
		typed := strings.NewReplacer("-", rapid.SampledFrom([]string{"", " ", "-", " - "}).Draw(t, "gap"), "0", "o", "1", "l").Replace(code)
		if got, ok := ParseCode(strings.ToLower(typed)); !ok || got != code {
			t.Fatalf("%q typed as %q reads as %q", code, typed, got)
		}
	})
}

func TestEndpoints(t *testing.T) {
	right := endpointSeeds[:6]
	for i, s := range endpointSeeds {
		if got := ValidEndpoint(s); got != (i < len(right)) {
			t.Errorf("%q: %v", s, got)
		}
	}
}

const hourUS = int64(time.Hour / time.Microsecond)

func TestStrangers(t *testing.T) {
	var book Strangers
	call := func(now int64, n uint64, host string) wire.Reason {
		_, why := book.Knock(now, Knock{Hub: "x.example", Pin: pin(n), Host: host})
		return why
	}
	for n := range uint64(MaxStrangersPerHost) {
		if why := call(1, n+1, "h"); why != "" {
			t.Fatal(n, why)
		}
	}
	if why := call(1, 50, "h"); why != wire.ReasonPendingFull {
		t.Errorf("a host's row too many: %q", why)
	}
	if why := call(2, 1, "h"); why != "" {
		t.Errorf("one who waits called again: %q", why)
	}
	for n := range uint64(MaxStrangers - MaxStrangersPerHost) {
		if why := call(3, 100+n, "h"+string(rune('A'+n))); why != "" {
			t.Fatal(n, why)
		}
	}
	if why := call(4, 999, "fresh"); why != wire.ReasonPendingFull || book.Dropped() != 2 {
		t.Errorf("the book was full: %q, %d dropped", why, book.Dropped())
	}
	if list := book.List(4); len(list) != MaxStrangers || list[0].Pin != pin(1) || list[0].Times != 2 || list[0].LastUS != 2 || list[0].ExpiresUS != 2+hourUS {
		t.Errorf("%d rows, the first %+v", len(list), list[0])
	}
	book.Forget(pin(100))
	if why := call(5, 999, "fresh"); why != "" {
		t.Errorf("a free row was not given: %q", why)
	}
	if _, ok := book.Find(1+hourUS, pin(2)); ok {
		t.Error("a row outlived its hour")
	}
	if _, ok := book.Find(1+hourUS, pin(1)); !ok {
		t.Error("a call did not keep its row")
	}
	if list := book.List(5 + hourUS); len(list) != 0 {
		t.Errorf("%d rows after everybody's hour", len(list))
	}
}

func TestStrangerKeepsItsName(t *testing.T) {
	var book Strangers
	book.Knock(1, Knock{Hub: "x.example", Pin: pin(1), Host: "h", Endpoints: []string{"x:1"}})
	row, _ := book.Knock(2, Knock{Hub: "bank.example", Pin: pin(1), Host: "i", Endpoints: []string{"bank:1"}})
	if row.Hub != "x.example" || row.Host != "i" || len(row.Endpoints) != 1 || row.Endpoints[0] != "x:1" || row.Times != 2 {
		t.Errorf("the row is now %+v", row)
	}
	row, _ = book.Knock(3, Knock{Hub: "x.example", Pin: pin(1), Host: "i", Endpoints: []string{"x:2"}})
	if row.Endpoints[0] != "x:2" {
		t.Errorf("it moved, and the row says %v", row.Endpoints)
	}
}

// TestStrangersAreBounded calls at random. Bounds hold at every step, and who
// waits is never pushed out before its hour.
func TestStrangersAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var book Strangers
		now, last := int64(0), map[Pin]int64{}
		for range rapid.IntRange(0, 300).Draw(t, "calls") {
			now += rapid.Int64Range(0, hourUS/20).Draw(t, "later")
			k := Knock{Pin: pin(rapid.Uint64Range(1, 200).Draw(t, "key")), Host: rapid.StringMatching(`[a-z]{1}`).Draw(t, "host")}
			if _, why := book.Knock(now, k); why == "" {
				last[k.Pin] = now
			}
			hosts, known := map[string]int{}, map[Pin]bool{}
			for _, row := range book.List(now) {
				hosts[row.Host]++
				known[row.Pin] = true
			}
			if len(known) > MaxStrangers {
				t.Fatalf("%d rows", len(known))
			}
			for host, n := range hosts {
				if n > MaxStrangersPerHost {
					t.Fatalf("%d rows of %s", n, host)
				}
			}
			for key, at := range last {
				if known[key] != (now < at+hourUS) {
					t.Fatalf("at %d the caller of %d is there: %v", now, at, known[key])
				}
			}
		}
	})
}
