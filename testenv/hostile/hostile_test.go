package hostile

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/process"
)

// The full size is `make link`.
var strangers = flag.Int("strangers", 1000, "unknown dialers")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if err := process.Clean(); err != nil {
		code = 1
	}
	if code == 0 && goleak.Find() != nil {
		println("goroutines are left: " + goleak.Find().Error())
		code = 1
	}
	os.Exit(code)
}

const (
	self   = "atlas.example" // the node under test
	friend = "borea.example" // its peer
	other  = "cetus.example" // a name that nobody has approved
)

// start runs a node.
func start(ctx context.Context, t *testing.T, hub, dir string) *cluster.Node {
	t.Helper()
	binary, err := process.Binary(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n, err := cluster.Make(ctx, cluster.Options{Binary: binary, Hub: hub, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Proc.Kill(); err != nil {
			t.Error(err)
		}
	})
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return n
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := certstest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func mint(t *testing.T, s certstest.Spec) *tls.Certificate {
	t.Helper()
	cert, err := certstest.Mint(s)
	if err != nil {
		t.Fatal(err)
	}
	return &cert
}

// pinOf is the pin of a key as operators write it.
func pinOf(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	id, err := certstest.Identity(certstest.Spec{Hub: friend, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return id.Pin().String()
}

func status(ctx context.Context, t *testing.T, n *cluster.Node) *cluster.Status {
	t.Helper()
	s, err := n.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// wrong are certificates of the hub with that name, or claiming to be it, that no node may accept, in either direction. key
// is the approved one.
func wrong(t *testing.T, hub string, key *ecdsa.PrivateKey, usage x509.ExtKeyUsage) map[string]struct {
	cert   *tls.Certificate
	reason string
} {
	now := time.Now()
	return map[string]struct {
		cert   *tls.Certificate
		reason string
	}{
		"same name, other key": {mint(t, certstest.Spec{Hub: hub}), "pin_mismatch"},
		"other hub's name":     {mint(t, certstest.Spec{Hub: other, Key: key}), "wrong_hub_id"},
		"two hubs' names":      {mint(t, certstest.Spec{Hub: hub, Key: key, URIs: []*url.URL{certs.HubURI(hub), certs.HubURI(other)}}), "wrong_hub_id"},
		"no name":              {mint(t, certstest.Spec{Hub: hub, Key: key, URIs: []*url.URL{}}), "wrong_hub_id"},
		"usage of the other role": {
			mint(t, certstest.Spec{Hub: hub, Key: key, Usages: []x509.ExtKeyUsage{usage}}), "wrong_key_usage",
		},
		"no usage":      {mint(t, certstest.Spec{Hub: hub, Key: key, Usages: []x509.ExtKeyUsage{}}), "wrong_key_usage"},
		"any usage":     {mint(t, certstest.Spec{Hub: hub, Key: key, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}), "wrong_key_usage"},
		"expired":       {mint(t, certstest.Spec{Hub: hub, Key: key, NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-time.Hour)}), "certificate_expired"},
		"not yet valid": {mint(t, certstest.Spec{Hub: hub, Key: key, NotBefore: now.Add(time.Hour), NotAfter: now.Add(48 * time.Hour)}), "certificate_not_yet_valid"},
	}
}

// TestWrongCertificatesInbound calls a node with each wrong certificate, and none: the caller gets an alert and no
// application byte, the node counts and logs the reason. The right certificate, said the same words, is answered: so the
// words would have been read.
func TestWrongCertificatesInbound(t *testing.T) {
	t.Parallel()
	ctx := within(t, time.Minute)
	n := start(ctx, t, self, t.TempDir())
	key := newKey(t)
	if err := n.Approve(ctx, &cluster.Node{Hub: friend, Links: "127.0.0.1:9", Pin: pinOf(t, key)}, "p/*"); err != nil {
		t.Fatal(err)
	}
	caller, err := NewCaller("")
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	cases := wrong(t, friend, key, x509.ExtKeyUsageServerAuth)
	cases["no certificate"] = struct {
		cert   *tls.Certificate
		reason string
	}{nil, "no_certificate"}
	cases["nobody"] = struct {
		cert   *tls.Certificate
		reason string
	}{mint(t, certstest.Spec{Hub: other}), "unknown_peer"}
	for name, c := range cases {
		before := status(ctx, t, n).Refusals[c.reason]
		out, err := caller.Call(ctx, n.Links, c.cert, Words())
		if err != nil {
			t.Fatal(err)
		}
		if !out.Refused || out.Alert == 0 || out.Answered != 0 {
			t.Errorf("%s: %+v", name, out)
		}
		if got := status(ctx, t, n).Refusals[c.reason]; got != before+1 {
			t.Errorf("%s: %s was counted %d times, want %d", name, c.reason, got, before+1)
		}
		if !logged(n, c.reason) {
			t.Errorf("%s: the log does not name %s:\n%s", name, c.reason, n.Proc.Tail(2000))
		}
	}
	out, err := caller.Call(ctx, n.Links, mint(t, certstest.Spec{Hub: friend, Key: key}), Words())
	if err != nil || out.Refused || out.Answered == 0 {
		t.Errorf("the right certificate: %+v, %v", out, err)
	}
}

// logged says whether the node's log has a refused link with the reason.
func logged(n *cluster.Node, reason string) bool {
	return slices.ContainsFunc(strings.Split(n.Proc.Stderr(), "\n"), func(line string) bool {
		return strings.Contains(line, "link refused") && strings.Contains(line, reason)
	})
}

// TestWrongCertificatesOutbound lets a node dial impostors: it finishes no handshake, sends no application byte, and shows
// the reason. The right certificate, which it greets, shows that the count counts.
func TestWrongCertificatesOutbound(t *testing.T) {
	t.Parallel()
	ctx := within(t, time.Minute)
	n := start(ctx, t, self, t.TempDir())
	impostors, want := map[string]*Impostor{}, map[string]string{}
	approve := func(hub string, key *ecdsa.PrivateKey, cert *tls.Certificate) {
		im, err := Listen(cert)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = im.Close() })
		impostors[hub] = im
		if err := n.Approve(ctx, &cluster.Node{Hub: hub, Links: im.Addr, Pin: pinOf(t, key)}, "p/*"); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]string{}
	kinds := wrong(t, friend, newKey(t), x509.ExtKeyUsageClientAuth)
	for name := range kinds {
		hub, key := fmt.Sprintf("peer-%d.example", len(names)), newKey(t)
		c := wrong(t, hub, key, x509.ExtKeyUsageClientAuth)[name]
		names[hub], want[hub] = name, c.reason
		approve(hub, key, c.cert)
	}
	right := newKey(t)
	approve(friend, right, mint(t, certstest.Spec{Hub: friend, Key: right}))
	// A server that has no certificate cannot get as far as having it judged: it says so itself.
	names["bare.example"], want["bare.example"] = "no certificate", "link_protocol"
	approve("bare.example", newKey(t), nil)
	err := process.Poll(ctx, func() error {
		s, err := n.Status(ctx)
		if err != nil {
			return err
		}
		for _, p := range s.Peers {
			if w := want[p.Hub]; w != "" && (p.Reason != w || p.Remote != (w == "link_protocol")) {
				return fmt.Errorf("%s: link %s, reason %q (remote %v), want %s", names[p.Hub], p.State, p.Reason, p.Remote, w)
			}
		}
		if impostors[friend].Read() == 0 {
			return fmt.Errorf("the right peer was not greeted: %d calls, %d admitted", impostors[friend].Calls(), impostors[friend].Admitted())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for hub, name := range names {
		if im := impostors[hub]; im.Calls() == 0 || im.Admitted() != 0 || im.Read() != 0 {
			t.Errorf("%s: %d calls, %d finished, %d bytes read", name, im.Calls(), im.Admitted(), im.Read())
		}
	}
}
