// Package certstest mints certificates, right and wrong ones, and builds the
// TLS configurations of hostile peers. It is for tests and the test environment
// only; nothing it makes is stored.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"slices"
	"time"

	"fleetrelay/certs"
)

// Spec says what a minted certificate holds. The zero value of a field means
// what a right certificate has; only Hub must be set.
type Spec struct {
	// Hub is named in the subject alternative name.
	Hub string
	// URIs replaces the subject alternative names when it is not nil.
	URIs []*url.URL
	// IPs are added to the subject alternative names, as an agents' listener
	// has them.
	IPs []net.IP
	// Key is the identity; nil makes a new one.
	Key *ecdsa.PrivateKey
	// Signer signs the certificate in place of Key.
	Signer *ecdsa.PrivateKey
	// NotBefore and NotAfter default to a day before and after now.
	NotBefore, NotAfter time.Time
	// Usages replaces the two extended key usages when it is not nil; an empty
	// slice leaves the extension out.
	Usages []x509.ExtKeyUsage
	// UnknownUsages are added.
	UnknownUsages []asn1.ObjectIdentifier
	// KeyUsage defaults to digitalSignature.
	KeyUsage x509.KeyUsage
	// Critical are extensions added as critical.
	Critical []pkix.Extension
	// Serial defaults to a random number.
	Serial *big.Int
}

// Mint makes the certificate.
func Mint(s Spec) (tls.Certificate, error) {
	key, err := s.key()
	if err != nil {
		return tls.Certificate{}, err
	}
	template, err := s.template()
	if err != nil {
		return tls.Certificate{}, err
	}
	signer := key
	if s.Signer != nil {
		signer = s.Signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parentOf(template, signer), key.Public(), signer)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certstest: mint: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certstest: mint: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// parentOf is what the library wants to see of who signs.
func parentOf(template *x509.Certificate, signer *ecdsa.PrivateKey) *x509.Certificate {
	parent := *template
	parent.PublicKey = signer.Public()
	return &parent
}

// PEM returns what an operator would keep in two files: a certificate that Mint
// made and its key.
func PEM(cert tls.Certificate) (certPEM, keyPEM []byte, err error) {
	pkcs8, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("certstest: key: %w", err)
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	return certPEM, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}

func (s *Spec) key() (*ecdsa.PrivateKey, error) {
	if s.Key != nil {
		return s.Key, nil
	}
	return NewKey()
}

func (s *Spec) template() (*x509.Certificate, error) {
	serial := s.Serial
	if serial == nil {
		random, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
		if err != nil {
			return nil, fmt.Errorf("certstest: serial: %w", err)
		}
		serial = random
	}
	t := &x509.Certificate{
		SerialNumber:       serial,
		Subject:            pkix.Name{CommonName: s.Hub},
		NotBefore:          orTime(s.NotBefore, time.Now().Add(-24*time.Hour)),
		NotAfter:           orTime(s.NotAfter, time.Now().Add(24*time.Hour)),
		KeyUsage:           x509.KeyUsageDigitalSignature,
		ExtKeyUsage:        []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		UnknownExtKeyUsage: s.UnknownUsages,
		URIs:               []*url.URL{certs.HubURI(s.Hub)},
		IPAddresses:        s.IPs,
		ExtraExtensions:    slices.Clone(s.Critical),
	}
	if s.KeyUsage != 0 {
		t.KeyUsage = s.KeyUsage
	}
	if s.Usages != nil {
		t.ExtKeyUsage = s.Usages
	}
	if s.URIs != nil {
		t.URIs = s.URIs
	}
	return t, nil
}

func orTime(t, fallback time.Time) time.Time {
	if t.IsZero() {
		return fallback
	}
	return t
}

// NewKey makes a P-256 key.
func NewKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certstest: key: %w", err)
	}
	return key, nil
}

// Identity makes an identity in memory. The Spec must name exactly one hub.
func Identity(s Spec) (*certs.Identity, error) {
	cert, err := Mint(s)
	if err != nil {
		return nil, err
	}
	return certs.FromCertificate(cert)
}

// Hostile returns a configuration, for either role, that presents cert (none
// if nil) and accepts whatever the other side presents. alpn defaults to that
// of links.
func Hostile(cert *tls.Certificate, alpn ...string) *tls.Config {
	if len(alpn) == 0 {
		alpn = []string{certs.ALPN}
	}
	conf := &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         alpn,
		InsecureSkipVerify: true,
		ClientAuth:         tls.RequestClientCert,
		ClientSessionCache: tls.NewLRUClientSessionCache(8), // keeps any ticket it can get
	}
	if cert != nil {
		conf.Certificates = []tls.Certificate{*cert}
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return conf
}

// Trusts is a [Trust] with keys that were turned away, each by its code.
type Trusts struct {
	Trust
	Turned map[certs.Pin]certs.Code
}

// Blocked implements [certs.Trust].
func (t Trusts) Blocked(pin [32]byte) string { return string(t.Turned[pin]) }

// Trust is a fixed set of approved hubs and their keys.
type Trust map[string][][32]byte

var _ certs.Trust = Trust{}

// Trusting returns a Trust in the given identities.
func Trusting(ids ...*certs.Identity) Trust {
	t := Trust{}
	for _, id := range ids {
		t[id.HubID()] = append(t[id.HubID()], id.Pin())
	}
	return t
}

// PinsOf implements [certs.Trust].
func (t Trust) PinsOf(hubID string) ([][32]byte, bool) {
	pins, ok := t[hubID]
	return pins, ok
}

// HubOf implements [certs.Trust].
func (t Trust) HubOf(pin [32]byte) (string, bool) {
	for hub, pins := range t {
		if slices.Contains(pins, pin) {
			return hub, true
		}
	}
	return "", false
}

// Blocked implements [certs.Trust]: nobody is.
func (Trust) Blocked([32]byte) string { return "" }
