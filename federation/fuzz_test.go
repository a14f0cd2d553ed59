package federation

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fleetrelay/hub/wire"
)

func invitation() Invitation {
	return Invitation{
		Hub: "alpha.example", Pin: pin(7), Endpoints: []string{"relay.alpha.example:8877", "[2001:db8::1]:8877"},
		Secret: [InviteBytes]byte{1, 2, 3}, ExpiresUS: 1_796_063_246_832_343,
	}
}

// tokenParser is ParseToken, or one with a planted bug.
type tokenParser func(string) (Invitation, error)

// tokenFault holds that a text is refused with invalid_invite and without being
// quoted, or is the token of what was read from it.
func tokenFault(text string, parse tokenParser) string {
	i, err := parse(text)
	if err != nil {
		refusal, ok := errors.AsType[*Refusal](err)
		switch {
		case !ok || refusal.Reason != wire.ReasonInvalidInvite:
			return fmt.Sprintf("refused with %v", err)
		case len(text) > 20 && strings.Contains(err.Error(), text[8:20]):
			return "the refusal quotes the token"
		}
		return ""
	}
	switch {
	case i.Token() != strings.TrimSpace(text):
		return "one invitation has two tokens"
	case len(i.Endpoints) == 0 || CheckEndpoints(i.Endpoints) != nil:
		return "endpoints that are none"
	case i.Pin == (Pin{}) || i.Secret == ([InviteBytes]byte{}) || i.ExpiresUS <= 0:
		return "a member is missing"
	}
	if _, err := wire.ParseHubID(string(i.Hub)); err != nil {
		return err.Error()
	}
	return ""
}

// sealed is a token of any text, its closing digits right.
func sealed(body string) string {
	text := tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(body))
	return text + "." + sumOf(text)
}

func tokenSeeds() []string {
	right := invitation().Token()
	change := func(f func(*Invitation)) string {
		i := invitation()
		f(&i)
		return i.Token()
	}
	return []string{
		right, " " + right + "\n", right[:len(right)-1], strings.ToUpper(right), right + ".", "fleet2" + right[6:], "", "fleet1.", "fleet1..",
		change(func(i *Invitation) { i.Hub = "no hub" }),
		change(func(i *Invitation) { i.Pin = Pin{} }),
		change(func(i *Invitation) { i.Secret = [InviteBytes]byte{} }),
		change(func(i *Invitation) { i.Endpoints = nil }),
		change(func(i *Invitation) { i.Endpoints = []string{"alpha.example"} }),
		change(func(i *Invitation) { i.Endpoints = make([]string, MaxEndpoints+1) }),
		change(func(i *Invitation) { i.ExpiresUS = 0 }),
		sealed(`{}`), sealed(`null`), sealed(`{"hub":"a","hub":"b"}`), sealed(strings.Repeat("[", 100)), sealed("\xff"),
		sealed(strings.Replace(bodyOf(right), ":", ": ", 1)),
		sealed(strings.Replace(bodyOf(right), `"hub"`, `"extra":1,"hub"`, 1)),
		strings.Repeat("a", maxToken+1),
	}
}

func bodyOf(token string) string {
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func FuzzToken(f *testing.F) {
	for _, s := range tokenSeeds() {
		f.Add(s, false)
		f.Add(bodyOf(invitation().Token()), true)
	}
	f.Fuzz(func(t *testing.T, text string, seal bool) {
		if seal { // else hardly anything gets past the closing digits
			text = sealed(text)
		}
		if fault := tokenFault(text, ParseToken); fault != "" {
			t.Fatal(fault)
		}
	})
}

// endpointFault holds that what is taken for an endpoint has nothing in it that
// could be more than one word, and a port.
func endpointFault(s string, valid func(string) bool) string {
	if !valid(s) {
		return ""
	}
	at := strings.LastIndexByte(s, ':')
	if len(s) > MaxEndpointBytes || at < 1 || strings.Trim(s[at+1:], "0123456789") != "" || len(s) == at+1 {
		return "no port, or too long"
	}
	for _, r := range s {
		if r <= ' ' || r > '~' || strings.ContainsRune("\"'`$&;|<>\\/@%,=#?*(){}!^~", r) {
			return fmt.Sprintf("%q in it", r)
		}
	}
	if s[0] == '-' || s[0] != '[' && strings.Count(s, ":") != 1 {
		return "a flag, or a colon too many"
	}
	return ""
}

var endpointSeeds = []string{
	"a:1", "relay.example:8877", "127.0.0.1:65535", "[::1]:1", "[2001:db8::1]:80", "[1:2:3:4:5:6:7:8]:80",
	"", ":1", "a:", "a:0", "a:01", "a:65536", "a:+1", "a b:1", "-a:1", "::1:80", "[::1%eth0]:1", "[::ffff:1.2.3.4]:1", "[1::2::3]:1",
	"[]:1", "[1:2:3:4:5:6:7]:1", "[1:2:3:4:5:6:7::8]:1", "[12345::]:1", "[:1]:1", "[1:]:1", "[:::]:1", "[a.example]:1", "a\x1b[2J:1", "a;id:1", "é:1",
	strings.Repeat("a", MaxEndpointBytes) + ":1",
}

func FuzzEndpoint(f *testing.F) {
	for _, s := range endpointSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if fault := endpointFault(s, ValidEndpoint); fault != "" {
			t.Fatalf("%q: %s", s, fault)
		}
	})
}

// codeFault holds that a text is no code, or one that reads as itself again.
func codeFault(s string, parse func(string) (string, bool)) string {
	code, ok := parse(s)
	if !ok {
		return ""
	}
	if again, ok := parse(code); !ok || again != code {
		return fmt.Sprintf("%q reads as %q", code, again)
	}
	digits := strings.ReplaceAll(code, "-", "")
	if len(digits) != codeDigits || strings.Trim(digits, crockford) != "" || len(code) != codeDigits+3 {
		return fmt.Sprintf("%q is no code", code)
	}
	return ""
}

var codeSeeds = []string{"ABCD-EFGH-JKMN-PQRS", "abcd efgh jkmn pqrs", "OIL0-1111-2222-3333", "ABCDEFGHJKMNPQRS", "ABCD-EFGH-JKMN-PQR", "ABCD-EFGH-JKMN-PQRST", "ABCD-EFGH-JKMN-PQRU", "ABCD-EFGH-JKMN-PQR\u017f", ""}

func FuzzCode(f *testing.F) {
	for _, s := range codeSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if fault := codeFault(s, ParseCode); fault != "" {
			t.Fatalf("%q: %s", s, fault)
		}
	})
}

// The bodies above find planted bugs among their own seeds, and nothing in what
// ships.
func TestFuzzBodiesFindPlantedBugs(t *testing.T) {
	over := func(seeds []string, fault func(string) string) (faults string) {
		for _, s := range seeds {
			faults += fault(s)
		}
		return faults
	}
	tokens := func(parse tokenParser) string {
		return over(tokenSeeds(), func(s string) string { return tokenFault(s, parse) })
	}
	endpoints := func(valid func(string) bool) string {
		return over(endpointSeeds, func(s string) string { return endpointFault(s, valid) })
	}
	codes := func(parse func(string) (string, bool)) string {
		return over(codeSeeds, func(s string) string { return codeFault(s, parse) })
	}
	if faults := tokens(ParseToken) + endpoints(ValidEndpoint) + codes(ParseCode); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, faults := range map[string]string{
		"closing digits are not compared": tokens(func(s string) (Invitation, error) {
			if at := strings.LastIndexByte(s, '.'); at > 0 {
				if i, err := ParseToken(s[:at] + "." + sumOf(s[:at])); err == nil {
					return i, nil
				}
			}
			return ParseToken(s)
		}),
		"a refusal that quotes the token": tokens(func(s string) (Invitation, error) {
			i, err := ParseToken(s)
			if err != nil {
				err = badToken(s)
			}
			return i, err
		}),
		"any host": endpoints(func(s string) bool { return strings.Contains(s, ":") && len(s) <= MaxEndpointBytes }),
		"any port": endpoints(func(s string) bool {
			return plainHost(strings.Split(s, ":")[0]) && len(s) <= MaxEndpointBytes
		}),
		"a code that is not grouped": codes(func(s string) (string, bool) {
			code, ok := ParseCode(s)
			return strings.ReplaceAll(code, "-", ""), ok
		}),
	} {
		if faults == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
