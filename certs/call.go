package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// What a call certificate says beyond the hub's name, as further URI subject
// alternative names: fleet-invite:HEX32 and fleet-endpoint:HOST:PORT. Their
// schemes are not "fleet", so that none of them can name a hub.
const (
	inviteScheme   = "fleet-invite"
	endpointScheme = "fleet-endpoint"
)

// Bounds of a [Call].
const (
	// InviteBytes is the size of an invitation's secret.
	InviteBytes = 16
	// MaxEndpoints bounds the endpoints, MaxEndpointBytes each of them.
	MaxEndpoints     = 8
	MaxEndpointBytes = 261
)

// Call is what a dialer says of itself to a hub that may not have approved it
// yet. It is carried by its certificate, which is judged before any other byte
// of it is read. The zero value says nothing.
type Call struct {
	// Invite is the secret of the invitation it has, nil for none.
	Invite []byte
	// Endpoints are where it is reached itself, HOST:PORT.
	Endpoints []string
}

// ErrCall means that a [Call] is out of bounds or not of the form.
var ErrCall = errors.New("certs: not a call: 16 bytes of invitation or none, at most 8 plain HOST:PORT")

func (c Call) empty() bool { return len(c.Invite) == 0 && len(c.Endpoints) == 0 }

// Valid tells whether the call is within its bounds and of its form.
func (c Call) Valid() bool {
	return (len(c.Invite) == 0 || len(c.Invite) == InviteBytes) && len(c.Endpoints) <= MaxEndpoints &&
		!slices.ContainsFunc(c.Endpoints, func(e string) bool { return !validEndpoint(e) })
}

// uris are the names that a call adds.
func (c Call) uris() []*url.URL {
	var list []*url.URL
	if len(c.Invite) > 0 {
		list = append(list, &url.URL{Scheme: inviteScheme, Opaque: hex.EncodeToString(c.Invite)})
	}
	for _, e := range c.Endpoints {
		list = append(list, &url.URL{Scheme: endpointScheme, Opaque: e})
	}
	return list
}

// certificateFor returns the identity's certificate, made anew around the same
// key when the call has something to say: what it permits and until when stays
// the same.
func (i *Identity) certificateFor(call Call) (*tls.Certificate, error) {
	if call.empty() {
		return &i.cert, nil
	}
	if !call.Valid() {
		return nil, ErrCall
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("certs: serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: i.leaf.Subject, NotBefore: i.leaf.NotBefore, NotAfter: i.leaf.NotAfter,
		KeyUsage: i.leaf.KeyUsage, ExtKeyUsage: i.leaf.ExtKeyUsage, UnknownExtKeyUsage: i.leaf.UnknownExtKeyUsage,
		BasicConstraintsValid: i.leaf.BasicConstraintsValid, DNSNames: i.leaf.DNSNames,
		URIs: append([]*url.URL{HubURI(i.hub)}, call.uris()...),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, i.key.Public(), i.key)
	if err != nil {
		return nil, fmt.Errorf("certs: call certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key}, nil
}

// selfSigned tells whether the key in the certificate signed it, in the one way
// that this package signs: then its owner wrote all that it says.
func selfSigned(leaf *x509.Certificate) bool {
	key, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	return ok && key.Curve == elliptic.P256() && leaf.SignatureAlgorithm == x509.ECDSAWithSHA256 &&
		leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) == nil
}

// callOf reads what a certificate says beyond the hub's name. It is all or
// nothing: one name that is out of bounds or not of the form, and it says
// nothing.
func callOf(leaf *x509.Certificate) Call {
	var call Call
	for _, uri := range leaf.URIs {
		ok := true
		switch uri.Scheme {
		case inviteScheme:
			ok = call.readInvite(uri)
		case endpointScheme:
			call.Endpoints = append(call.Endpoints, uri.Opaque)
			ok = len(call.Endpoints) <= MaxEndpoints && validEndpoint(uri.Opaque) && uri.String() == endpointScheme+":"+uri.Opaque
		}
		if !ok {
			return Call{}
		}
	}
	return call
}

// readInvite takes the one invitation; lower-case digits, so that it has one
// form.
func (c *Call) readInvite(uri *url.URL) bool {
	secret, err := hex.DecodeString(uri.Opaque)
	if err != nil || len(secret) != InviteBytes || c.Invite != nil {
		return false
	}
	c.Invite = secret
	return uri.String() == inviteScheme+":"+hex.EncodeToString(secret)
}

// validEndpoint repeats the rule of the federation package, which this one does
// not import: a name of letters, digits, '-', '_' and '.', or an IPv6 address
// in brackets, and a port from 1.
func validEndpoint(s string) bool {
	at := strings.LastIndexByte(s, ':')
	if at < 1 || len(s) > MaxEndpointBytes {
		return false
	}
	host, port := s[:at], s[at+1:]
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return ok && err == nil && ip.Is6() && !strings.ContainsAny(inner, "%.")
	}
	for i := range len(host) {
		c := host[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// Only returns the trust in one hub by one key and in nobody else: for calling
// a hub that invited this one and is not approved yet.
func Only(hubID string, pin Pin) Trust { return only{hubID, pin} }

type only struct {
	hub string
	pin Pin
}

func (o only) PinsOf(hubID string) ([][32]byte, bool) {
	if hubID != o.hub {
		return nil, false
	}
	return [][32]byte{o.pin}, true
}

func (o only) HubOf(pin [32]byte) (string, bool) { return o.hub, pin == [32]byte(o.pin) }

func (only) Blocked([32]byte) string { return "" }
