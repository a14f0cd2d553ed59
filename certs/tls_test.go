package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
)

// TestNoResumption connects twice with a client that keeps every ticket it is
// given; trust ends in between.
func TestNoResumption(t *testing.T) {
	cert, err := certstest.Mint(certstest.Spec{Hub: judged, Key: keyB})
	if err != nil {
		t.Fatal(err)
	}
	trust := peers
	client := certstest.Hostile(&cert)
	server := certs.LinkServer(us, func() certs.Trust { return trust }, time.Now, nil)
	if got := overTCP(t, server, client, false, nil); got.err != nil || got.state.DidResume {
		t.Fatalf("first: %v, resumed %v", got.err, got.state.DidResume)
	}
	if got := overTCP(t, server, client, false, nil); got.err != nil || got.state.DidResume {
		t.Fatalf("second: %v, resumed %v", got.err, got.state.DidResume)
	}
	trust = certstest.Trusting(third)
	got := overTCP(t, server, client, false, nil)
	checkVerdict(t, got.err, verdict{code: certs.UnknownPeer})
}

func TestWithoutTrustNobodyIsAccepted(t *testing.T) {
	cert, err := certstest.Mint(certstest.Spec{Hub: judged, Key: keyB})
	if err != nil {
		t.Fatal(err)
	}
	server := certs.LinkServer(us, func() certs.Trust { return nil }, time.Now, nil)
	got := overTCP(t, server, certstest.Hostile(&cert), false, nil)
	checkVerdict(t, got.err, verdict{code: certs.UnknownPeer})
	client := certs.LinkClient(us, judged, func() certs.Trust { return certstest.Trust{judged: nil} }, time.Now, certs.Call{})
	got = overTCP(t, certstest.Hostile(&cert), client, true, nil)
	checkVerdict(t, got.err, verdict{code: certs.UnknownPeer})
}

// TestOldProtocols offers what links do not speak.
func TestOldProtocols(t *testing.T) {
	cert, err := certstest.Mint(certstest.Spec{Hub: judged, Key: keyB})
	if err != nil {
		t.Fatal(err)
	}
	harm := map[string]func(*tls.Config){
		"TLS 1.2":    func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 },
		"other ALPN": func(c *tls.Config) { c.NextProtos = []string{"fleet-relay/0"} },
	}
	for name, change := range harm {
		t.Run(name, func(t *testing.T) {
			trust := func() certs.Trust { return peers }
			hostile := certstest.Hostile(&cert)
			change(hostile)
			if got := overTCP(t, certs.LinkServer(us, trust, time.Now, nil), hostile, false, nil); got.err == nil || got.read != "" {
				t.Errorf("accepted it: read %q", got.read)
			}
			if got := overTCP(t, hostile, certs.LinkClient(us, judged, trust, time.Now, certs.Call{}), true, nil); got.err == nil || got.read != "" {
				t.Errorf("dialled it: read %q", got.read)
			}
		})
	}
}

func TestCodesAreClosed(t *testing.T) {
	seen := map[certs.Code]bool{}
	for _, code := range certs.Codes() {
		if seen[code] || code == "" {
			t.Errorf("%q twice", code)
		}
		seen[code] = true
	}
	for _, h := range handshakes(t) {
		delete(seen, h.dial.code)
		delete(seen, h.accept.code)
	}
	if len(seen) > 0 {
		t.Errorf("no handshake of the table ends with %v", seen)
	}
}

func TestAgentServer(t *testing.T) {
	now := time.Now()
	fresh := certstest.Spec{Hub: "agents.example"}
	old := certstest.Spec{Hub: "agents.example", NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour)}
	tests := map[string]struct {
		spec certstest.Spec
		harm func(cert, key string) error
		want error
	}{
		"right":           {fresh, nil, nil},
		"group-readable":  {fresh, func(_, key string) error { return os.Chmod(key, 0o640) }, nil},
		"world-readable":  {fresh, func(_, key string) error { return os.Chmod(key, 0o644) }, certs.ErrKeyTooOpen},
		"expired":         {old, nil, certs.ErrExpired},
		"no key":          {fresh, func(_, key string) error { return os.Remove(key) }, fs.ErrNotExist},
		"no certificate":  {fresh, func(cert, _ string) error { return os.Remove(cert) }, fs.ErrNotExist},
		"cut certificate": {fresh, func(cert, _ string) error { return os.Truncate(cert, 50) }, certs.ErrDamaged},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cert, key := writePair(t, test.spec)
			if test.harm != nil {
				if err := test.harm(cert, key); err != nil {
					t.Fatal(err)
				}
			}
			conf, err := certs.AgentServer(cert, key, now)
			if !errors.Is(err, test.want) || (err == nil) != (conf != nil) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if conf != nil {
				greet(t, conf)
			}
		})
	}
}

func greet(t *testing.T, conf *tls.Config) {
	t.Helper()
	left, right := tcpPair(t)
	defer left.Close()
	defer right.Close()
	server, client := tls.Server(left, conf), tls.Client(right, certstest.Hostile(nil, "http/1.1"))
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-done); err != nil {
		t.Fatal(err)
	}
}

func writePair(t *testing.T, spec certstest.Spec) (certFile, keyFile string) {
	t.Helper()
	cert, err := certstest.Mint(spec)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	if err := errors.Join(os.WriteFile(certFile, certPEM, 0o644), os.WriteFile(keyFile, keyPEM, 0o600)); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile
}
