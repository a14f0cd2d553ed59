package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

const (
	// lifetime of a new certificate. The key is the identity and links are
	// judged by its pin, so a short life would protect nothing and stop a
	// forgotten node on a fixed day.
	lifetime = 10 * 365 * 24 * time.Hour
	// backdate lets a peer whose clock is behind take a fresh certificate.
	backdate = 24 * time.Hour
	// maxHubID is the longest hub id in bytes.
	maxHubID = 64
)

// Identity is a node's private key with the certificate around it. It is
// immutable and safe for concurrent use; its key never leaves the package.
type Identity struct {
	hub  string
	pin  Pin
	key  *ecdsa.PrivateKey
	leaf *x509.Certificate
	cert tls.Certificate
}

// HubID returns the hub that the certificate names.
func (i *Identity) HubID() string { return i.hub }

// Pin returns the pin of the identity's key, which peers are given.
func (i *Identity) Pin() Pin { return i.pin }

// NotBefore returns the first instant at which the certificate is valid.
func (i *Identity) NotBefore() time.Time { return i.leaf.NotBefore }

// NotAfter returns the last instant at which the certificate is valid.
func (i *Identity) NotAfter() time.Time { return i.leaf.NotAfter }

// Derive returns 32 secret bytes that only the holder of this key can compute,
// the same at every start, different for every label.
func (i *Identity) Derive(label string) ([32]byte, error) {
	secret, err := i.key.Bytes()
	if err != nil {
		return [32]byte{}, fmt.Errorf("certs: derive %s: %w", label, err)
	}
	out, err := hkdf.Key(sha256.New, secret, nil, "fleet/"+label, 32)
	if err != nil {
		return [32]byte{}, fmt.Errorf("certs: derive %s: %w", label, err)
	}
	return [32]byte(out), nil
}

// Parse builds an identity from PEM text. It fails with [ErrDamaged] if the
// key is not P-256, does not belong to the certificate, or the certificate does
// not name exactly one hub. Dates and usages are for the other side to judge.
func Parse(certPEM, keyPEM []byte) (*Identity, error) {
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		// The cause may quote its input; a key must not get into a log.
		return nil, fmt.Errorf("%w: certificate and key do not parse as a pair", ErrDamaged)
	}
	return FromCertificate(cert)
}

// FromCertificate is [Parse] for a pair that is already in memory.
func FromCertificate(cert tls.Certificate) (*Identity, error) {
	key, ok := cert.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%w: the key is not P-256", ErrDamaged)
	}
	if len(cert.Certificate) == 0 {
		return nil, fmt.Errorf("%w: no certificate", ErrDamaged)
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	hubs := hubsNamed(leaf)
	if len(hubs) != 1 || hubs[0] == "" {
		return nil, fmt.Errorf("%w: the certificate does not name exactly one hub", ErrDamaged)
	}
	pin, err := pinOf(leaf)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	cert.Leaf = leaf
	return &Identity{hub: hubs[0], pin: pin, key: key, leaf: leaf, cert: cert}, nil
}

// generate makes a key and its certificate and returns both as PEM text.
func generate(hubID string, now time.Time) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("certs: new key: %w", err)
	}
	template, err := newTemplate(hubID, now)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("certs: new certificate: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("certs: encode key: %w", err)
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	return certPEM, keyPEM, nil
}

func newTemplate(hubID string, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("certs: serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: hubID},
		NotBefore:             now.Add(-backdate).UTC(),
		NotAfter:              now.Add(lifetime).UTC(),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{hubID},
		URIs:                  []*url.URL{HubURI(hubID)},
	}, nil
}

// HubURI returns the subject alternative name that names a hub exactly.
func HubURI(hubID string) *url.URL {
	return &url.URL{Scheme: "fleet", Host: "hub", Path: "/" + hubID}
}

// hubsNamed returns the hub ids that a certificate names, in its order. A
// fleet URI that is not exactly [HubURI] of a hub id counts as "", so that it
// can neither be taken for a hub nor pass unnoticed beside one.
func hubsNamed(leaf *x509.Certificate) []string {
	var hubs []string
	for _, uri := range leaf.URIs {
		if uri.Scheme != "fleet" {
			continue
		}
		hubs = append(hubs, hubOfURI(uri))
	}
	return hubs
}

func hubOfURI(uri *url.URL) string {
	if len(uri.Path) < 2 {
		return ""
	}
	hub := uri.Path[1:]
	if !validHubID(hub) || uri.String() != HubURI(hub).String() {
		return ""
	}
	return hub
}

// validHubID repeats the rule of the wire package, which this one does not
// import: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
func validHubID(s string) bool {
	if s == "" || len(s) > maxHubID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}
