package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// callReader is callOf, or one with a planted bug.
type callReader func(*x509.Certificate) Call

// callFault holds that whatever names a certificate has, one a line, what is
// read from them is within the bounds of a call and says in its one form what
// the names said; and that none of a call's names is taken for a hub.
func callFault(names string, read callReader) string {
	leaf := &x509.Certificate{}
	said := map[string]int{}
	for line := range strings.Lines(names) {
		line = strings.TrimSuffix(line, "\n")
		uri, err := url.Parse(line)
		if err != nil {
			continue // the library refuses the certificate
		}
		leaf.URIs = append(leaf.URIs, uri)
		said[uri.String()]++ // the library folds the case of a scheme
	}
	call := read(leaf)
	if !call.Valid() {
		return fmt.Sprintf("not a call: %q", call)
	}
	for _, uri := range call.uris() {
		if said[uri.String()] == 0 {
			return fmt.Sprintf("%s was not said", uri)
		}
		if said[uri.String()]--; uri.Scheme == "fleet" {
			return "it names a hub"
		}
	}
	for line, left := range said {
		if !call.empty() && left > 0 && (strings.HasPrefix(line, inviteScheme+":") || strings.HasPrefix(line, endpointScheme+":")) {
			return fmt.Sprintf("%s was said and passed over", line)
		}
	}
	again := read(&x509.Certificate{URIs: call.uris()})
	if !bytes.Equal(again.Invite, call.Invite) || !slices.Equal(again.Endpoints, call.Endpoints) {
		return "said again it is another call"
	}
	return ""
}

var callSeeds = []string{
	"",
	"fleet://hub/a.example\nfleet-invite:30313233343536373839616263646566\nfleet-endpoint:a.example:8877\nfleet-endpoint:[2001:db8::1]:1",
	"fleet-invite:30313233343536373839616263646566\nfleet-invite:00313233343536373839616263646566",
	"fleet-invite:3031323334353637383961626364656",
	"fleet-invite:AA313233343536373839616263646566",
	"fleet-invite:30313233343536373839616263646566?x=1",
	"fleet-invite:30313233343536373839616263646566\nfleet-endpoint:nothing",
	"fleet-endpoint:a:1?x",
	"fleet-endpoint:a:1#x",
	"fleet-endpoint://a:1",
	"fleet-endpoint:[fe80::1%25eth0]:1",
	"FLEET-ENDPOINT:a:1",
	strings.Repeat("fleet-endpoint:a:1\n", MaxEndpoints+1),
}

func FuzzCall(f *testing.F) {
	for _, s := range callSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, names string) {
		if fault := callFault(names, callOf); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The body above finds planted bugs among its own seeds, and nothing in what ships.
func TestCallFuzzBodyFindsPlantedBugs(t *testing.T) {
	over := func(read callReader) (faults string) {
		for _, s := range callSeeds {
			faults += callFault(s, read)
		}
		return faults
	}
	if faults := over(callOf); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	each := func(take func(*Call, *url.URL)) callReader {
		return func(leaf *x509.Certificate) (call Call) {
			for _, uri := range leaf.URIs {
				take(&call, uri)
			}
			return call
		}
	}
	for name, read := range map[string]callReader{
		"the last secret counts": each(func(c *Call, uri *url.URL) {
			if secret, err := hex.DecodeString(uri.Opaque); err == nil && uri.Scheme == inviteScheme && len(secret) == InviteBytes {
				c.Invite = secret
			}
		}),
		"any endpoint": each(func(c *Call, uri *url.URL) {
			if uri.Scheme == endpointScheme {
				c.Endpoints = append(c.Endpoints, uri.Opaque)
			}
		}),
		"a query is passed over": each(func(c *Call, uri *url.URL) {
			if uri.Scheme == endpointScheme && validEndpoint(uri.Opaque) && len(c.Endpoints) < MaxEndpoints {
				c.Endpoints = append(c.Endpoints, uri.Opaque)
			}
		}),
	} {
		if over(read) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
