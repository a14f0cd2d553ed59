package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pairParser is Parse, or one with a planted bug.
type pairParser func(certPEM, keyPEM []byte) (*Identity, error)

// pairFault holds that a pair of PEM texts is refused as damaged, without a word of the key, or is the identity of the
// one hub that its certificate names, with the pin of its key.
func pairFault(certPEM, keyPEM []byte, parse pairParser) string {
	id, err := parse(certPEM, keyPEM)
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			return fmt.Sprintf("refused with %v", err)
		}
		for line := range strings.Lines(string(keyPEM)) {
			if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") && strings.Contains(err.Error(), line) {
				return "the refusal quotes the key"
			}
		}
		return ""
	}
	leaf := firstCertificate(certPEM)
	if leaf == nil {
		return "an identity without a certificate"
	}
	own := 0
	for _, uri := range leaf.URIs {
		if uri.Scheme != "fleet" {
			continue
		}
		own++
		if uri.String() != "fleet://hub/"+id.HubID() {
			return fmt.Sprintf("hub %q, named as %s", id.HubID(), uri)
		}
	}
	if own != 1 || !validHubID(id.HubID()) {
		return fmt.Sprintf("hub %q, and the certificate names %d", id.HubID(), own)
	}
	der, err := x509.MarshalPKIXPublicKey(leaf.PublicKey)
	if err != nil || id.Pin() != sha256.Sum256(der) {
		return "the pin is of another key"
	}
	if public, ok := id.cert.PrivateKey.(crypto.Signer).Public().(*ecdsa.PublicKey); !ok || public.Curve != elliptic.P256() || !public.Equal(leaf.PublicKey) {
		return "the key is of another kind or pair"
	}
	if _, err := id.Derive("x"); err != nil {
		return err.Error()
	}
	return ""
}

func firstCertificate(text []byte) *x509.Certificate {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil
		}
		if block.Type == "CERTIFICATE" {
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil
			}
			return leaf
		}
		text = rest
	}
}

// pairSeeds are a right pair and pairs of which something is wrong.
func pairSeeds(t testing.TB) [][2][]byte {
	pair := func(curve elliptic.Curve, uris ...string) [2][]byte {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template, err := newTemplate("a.example", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = nil
		for _, text := range uris {
			uri, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			template.URIs = append(template.URIs, uri)
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return [2][]byte{
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
		}
	}
	right, other := pair(elliptic.P256(), "fleet://hub/a.example"), pair(elliptic.P256(), "fleet://hub/b.example")
	return [][2][]byte{
		right,
		{right[0], other[1]},
		{append(bytes.Clone(right[0]), other[0]...), right[1]},
		{append(bytes.Clone(other[0]), right[0]...), right[1]},
		pair(elliptic.P384(), "fleet://hub/a.example"),
		pair(elliptic.P256()),
		pair(elliptic.P256(), "https://a.example", "fleet://hub/a.example"),
		pair(elliptic.P256(), "fleet://hub/a.example", "fleet://hub/b.example"),
		pair(elliptic.P256(), "fleet://hub/a%2Eexample"),
		pair(elliptic.P256(), "fleet://hub/a.example?x=1"),
		pair(elliptic.P256(), "fleet://hub/-a"),
		{right[0], bytes.Replace(right[1], []byte("M"), []byte("!"), 1)},
		{right[1], right[0]},
		{nil, nil},
	}
}

func FuzzPair(f *testing.F) {
	for _, s := range pairSeeds(f) {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, certPEM, keyPEM []byte) {
		if fault := pairFault(certPEM, keyPEM, Parse); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The body above finds planted bugs among its own seeds, and nothing in what ships.
func TestPairFuzzBodyFindsPlantedBugs(t *testing.T) {
	seeds := pairSeeds(t)
	over := func(parse pairParser) (faults string) {
		for _, s := range seeds {
			faults += pairFault(s[0], s[1], parse)
		}
		return faults
	}
	if faults := over(Parse); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, parse := range map[string]pairParser{
		"any number of hubs": func(certPEM, keyPEM []byte) (*Identity, error) {
			id, err := Parse(certPEM, keyPEM)
			if err != nil {
				if hubs := hubsOf(certPEM); len(hubs) > 1 {
					return &Identity{hub: hubs[0]}, nil
				}
			}
			return id, err
		},
		"the pin of the whole certificate": func(certPEM, keyPEM []byte) (*Identity, error) {
			id, err := Parse(certPEM, keyPEM)
			if err == nil {
				id.pin = sha256.Sum256(id.leaf.Raw)
			}
			return id, err
		},
		"a refusal that quotes its input": func(certPEM, keyPEM []byte) (*Identity, error) {
			id, err := Parse(certPEM, keyPEM)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, keyPEM)
			}
			return id, err
		},
	} {
		if over(parse) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}

func hubsOf(certPEM []byte) []string {
	if leaf := firstCertificate(certPEM); leaf != nil {
		return hubsNamed(leaf)
	}
	return nil
}

// TestLargeFilesAreNotRead: a key or certificate of many bytes is refused before it is in memory.
func TestLargeFilesAreNotRead(t *testing.T) {
	for _, name := range []string{keyFile, certFile} {
		dir := t.TempDir()
		if _, err := Create(dir, "a.example", time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, folder, name), maxFile+1); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
