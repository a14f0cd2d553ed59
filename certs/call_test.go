package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
)

var call = certs.Call{
	Invite:    []byte("0123456789abcdef"),
	Endpoints: []string{"relay.a.example:8877", "[2001:db8::1]:8877", "192.0.2.7:1"},
}

// overEach plays a client against this node's server over both carriers.
func overEach(t *testing.T, trust certs.Trust, client *tls.Config, look func(t *testing.T, got outcome)) {
	for name, run := range map[string]carrier{"tls": overTCP, "quic": overQUIC} {
		t.Run(name, func(t *testing.T) {
			told := make(chan *certs.Error, 1)
			server := certs.LinkServer(right, func() certs.Trust { return trust }, time.Now, func(_ context.Context, e *certs.Error) { told <- e })
			look(t, run(t, server, client, false, told))
		})
	}
}

// TestCallIsHeard: a hub that does not know the caller learns what it said by
// the refusal, and reads no byte.
func TestCallIsHeard(t *testing.T) {
	client := certs.LinkClient(us, judged, func() certs.Trust { return certs.Only(judged, right.Pin()) }, time.Now, call)
	overEach(t, peers, client, func(t *testing.T, got outcome) {
		e, ok := errors.AsType[*certs.Error](got.err)
		if !ok || e.Code != certs.UnknownPeer || got.read != "" {
			t.Fatalf("read %q, %v", got.read, got.err)
		}
		if e.Hub != us.HubID() || e.Pin != us.Pin() || !e.Signed || !bytes.Equal(e.Invite, call.Invite) || !slices.Equal(e.Endpoints, call.Endpoints) {
			t.Errorf("heard %+v", e)
		}
		if strings.Contains(e.Error(), fmt.Sprintf("%x", call.Invite)) {
			t.Error("the refusal's text quotes the secret")
		}
	})
}

// TestCallChangesNothingElse: who is approved is let in with or without a call,
// as the same hub with the same key.
func TestCallChangesNothingElse(t *testing.T) {
	client := certs.LinkClient(us, judged, func() certs.Trust { return peers }, time.Now, call)
	overEach(t, certstest.Trusting(us), client, func(t *testing.T, got outcome) {
		if got.err != nil {
			t.Fatal(got.err)
		}
		if hub, pin := certs.PeerOf(got.state); hub != us.HubID() || pin != us.Pin() {
			t.Errorf("became %s with %v", hub, pin)
		}
		leaf := got.state.PeerCertificates[0]
		if !leaf.NotAfter.Equal(us.NotAfter()) || !leaf.NotBefore.Equal(us.NotBefore()) {
			t.Error("the certificate has other dates")
		}
	})
}

func TestCallsOutOfBounds(t *testing.T) {
	for name, bad := range map[string]certs.Call{
		"short secret":       {Invite: []byte("short")},
		"no endpoint":        {Endpoints: []string{""}},
		"too many endpoints": {Endpoints: slices.Repeat([]string{"a:1"}, certs.MaxEndpoints+1)},
		"too long":           {Endpoints: []string{strings.Repeat("a", certs.MaxEndpointBytes) + ":1"}},
		"no port":            {Endpoints: []string{"a"}},
		"a query":            {Endpoints: []string{"a?x:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := certs.LinkClient(us, judged, func() certs.Trust { return peers }, time.Now, bad)
			got := overTCP(t, certstest.Hostile(mustMint(t, certstest.Spec{Hub: judged, Key: keyB})), client, true, nil)
			if !errors.Is(got.err, certs.ErrCall) || got.read != "" {
				t.Errorf("read %q, %v", got.read, got.err)
			}
		})
	}
}

// TestHostileCalls: what is not of the form, out of bounds or not signed by the
// key says nothing, and never another hub's name.
func TestHostileCalls(t *testing.T) {
	const (
		hub    = "fleet://hub/x.example"
		invite = "fleet-invite:30313233343536373839616263646566"
	)
	endpoints := func(n int) []string {
		return append([]string{hub}, slices.Repeat([]string{"fleet-endpoint:a:1"}, n)...)
	}
	tests := map[string]struct {
		uris      []string
		signer    bool
		invite    bool
		endpoints int
		hub       string
	}{
		"both":                     {[]string{hub, invite, "fleet-endpoint:a:1"}, false, true, 1, "x.example"},
		"before the name":          {[]string{invite, "fleet-endpoint:a:1", hub}, false, true, 1, "x.example"},
		"without a name":           {[]string{invite}, false, true, 0, ""},
		"other schemes beside":     {[]string{hub, invite, "https://x.example/", "fleet-other:x"}, false, true, 0, "x.example"},
		"eight endpoints":          {endpoints(certs.MaxEndpoints), false, false, certs.MaxEndpoints, "x.example"},
		"nine endpoints":           {endpoints(certs.MaxEndpoints + 1), false, false, 0, "x.example"},
		"a thousand endpoints":     {endpoints(1000), false, false, 0, "x.example"},
		"another signed it":        {[]string{hub, invite, "fleet-endpoint:a:1"}, true, false, 0, "x.example"},
		"two secrets":              {[]string{hub, invite, invite}, false, false, 0, "x.example"},
		"short secret":             {[]string{hub, invite[:len(invite)-2], "fleet-endpoint:a:1"}, false, false, 0, "x.example"},
		"upper-case secret":        {[]string{hub, "fleet-invite:AA313233343536373839616263646566"}, false, false, 0, "x.example"},
		"secret with a query":      {[]string{hub, invite + "?x"}, false, false, 0, "x.example"},
		"secret with a fragment":   {[]string{hub, invite + "#x"}, false, false, 0, "x.example"},
		"secret as a path":         {[]string{hub, "fleet-invite://h/30313233343536373839616263646566"}, false, false, 0, "x.example"},
		"endpoint without a port":  {[]string{hub, invite, "fleet-endpoint:a"}, false, false, 0, "x.example"},
		"endpoint as a host":       {[]string{hub, invite, "fleet-endpoint://a:1"}, false, false, 0, "x.example"},
		"endpoint with a query":    {[]string{hub, invite, "fleet-endpoint:a:1?x"}, false, false, 0, "x.example"},
		"endpoint percent-encoded": {[]string{hub, invite, "fleet-endpoint:%61:1"}, false, false, 0, "x.example"},
		"endpoint to a terminal":   {[]string{hub, invite, "fleet-endpoint:a%1b[2J:1"}, false, false, 0, "x.example"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := certstest.Spec{Hub: "x.example", Key: mustKey(), URIs: []*url.URL{}}
			for _, text := range test.uris {
				scheme, opaque, _ := strings.Cut(text, ":")
				u := &url.URL{Scheme: scheme, Opaque: opaque}
				spec.URIs = append(spec.URIs, u)
			}
			if test.signer {
				spec.Signer = mustKey()
			}
			got := overTCP(t, certs.LinkServer(us, func() certs.Trust { return peers }, time.Now, nil), certstest.Hostile(mustMint(t, spec)), false, nil)
			e, ok := errors.AsType[*certs.Error](got.err)
			if !ok {
				t.Fatal(got.err)
			}
			if e.Code != certs.UnknownPeer || e.Signed == test.signer || (len(e.Invite) > 0) != test.invite || len(e.Endpoints) != test.endpoints || e.Hub != test.hub {
				t.Errorf("heard %+v", e)
			}
		})
	}
}

func mustMint(t *testing.T, s certstest.Spec) *tls.Certificate {
	t.Helper()
	cert, err := certstest.Mint(s)
	if err != nil {
		t.Fatal(err)
	}
	return &cert
}
