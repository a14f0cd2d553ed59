package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trust says which keys belong to which approved hubs. It is a snapshot: its
// answers never change. Ids are compared exactly, never by folding case.
type Trust interface {
	// PinsOf returns the keys of an approved hub; false if there is no such
	// hub. The caller does not modify the slice.
	PinsOf(hubID string) (pins [][32]byte, ok bool)
	// HubOf returns the hub that a key belongs to.
	HubOf(pin [32]byte) (hubID string, ok bool)
	// Blocked returns the [Code] by which a key is refused that was turned away,
	// "" for any other. A code that is none counts as [PeerRejected].
	Blocked(pin [32]byte) string
}

// role is the part the other side plays in a handshake.
type role int

const (
	// server: this node dialled.
	server role = iota
	// client: this node accepted.
	client
)

func (r role) String() string {
	if r == server {
		return "the hub that was dialled (server side)"
	}
	return "the hub that called (client side)"
}

// usage returns the extended key usage that a role needs, and its name.
func (r role) usage() (x509.ExtKeyUsage, string) {
	if r == server {
		return x509.ExtKeyUsageServerAuth, "serverAuth"
	}
	return x509.ExtKeyUsageClientAuth, "clientAuth"
}

// check judges one certificate. want is the hub that was dialled, "" while
// accepting, where the key decides which hub it must be.
type check struct {
	role  role
	want  string
	trust Trust
	now   time.Time
}

// verify is the only judgement of a peer's certificate, for both roles and
// every transport. It returns nil or an [*Error].
func (c check) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return &Error{Code: NoCertificate, Detail: fmt.Sprintf("%v presented no certificate", c.role)}
	}
	if code, detail := c.judge(state.PeerCertificates[0]); code != "" {
		return refusal(state.PeerCertificates[0], code, detail)
	}
	return nil
}

func refusal(leaf *x509.Certificate, code Code, detail string) *Error {
	pin, _ := pinOf(leaf) // zero for a key that has no encoding, which no peer has
	e := &Error{Code: code, Detail: detail, Hub: claimed(leaf), Pin: pin, Signed: selfSigned(leaf)}
	if e.Signed {
		call := callOf(leaf)
		e.Invite, e.Endpoints = call.Invite, call.Endpoints
	}
	return e
}

// judge runs the checks in order and returns the first failure.
func (c check) judge(leaf *x509.Certificate) (Code, string) {
	if code, detail := c.identity(leaf); code != "" {
		return code, detail
	}
	if code, detail := c.usage(leaf); code != "" {
		return code, detail
	}
	return c.dates(leaf)
}

// identity binds the key to the hub it was approved for and to the hub that
// the certificate names; these must be one.
func (c check) identity(leaf *x509.Certificate) (Code, string) {
	pin, err := pinOf(leaf)
	if err != nil {
		return UnknownPeer, fmt.Sprintf("%v has a key of an unknown kind", c.role)
	}
	if c.trust == nil {
		return UnknownPeer, "this node trusts no peers"
	}
	if code, detail := c.blocked(leaf, pin); code != "" {
		return code, detail
	}
	hub, code, detail := c.owner(leaf, pin)
	if code != "" {
		return code, detail
	}
	if !names(leaf, hub) {
		return WrongHubID, fmt.Sprintf("%v holds the key of hub %s but its certificate names %s", c.role, hub, naming(leaf))
	}
	return "", ""
}

// blocked refuses a key that was turned away, whatever else is known of it.
func (c check) blocked(leaf *x509.Certificate, pin Pin) (Code, string) {
	switch code := Code(c.trust.Blocked(pin)); code {
	case "":
		return "", ""
	case PeerRevoked:
		return PeerRevoked, fmt.Sprintf("%v names %s with key %v, whose approval was revoked", c.role, naming(leaf), pin)
	default:
		return PeerRejected, fmt.Sprintf("%v names %s with key %v, which was rejected", c.role, naming(leaf), pin)
	}
}

// owner returns the hub that the key must be, by the pins of the snapshot.
func (c check) owner(leaf *x509.Certificate, pin Pin) (hub string, _ Code, detail string) {
	if c.role == client {
		return c.ownerOfCaller(leaf, pin)
	}
	pins, ok := c.trust.PinsOf(c.want)
	if !ok || len(pins) == 0 {
		return "", UnknownPeer, fmt.Sprintf("hub %s, which was dialled, is not an approved peer", c.want)
	}
	if slices.Contains(pins, [32]byte(pin)) {
		return c.want, "", ""
	}
	if !names(leaf, c.want) {
		return "", WrongHubID, fmt.Sprintf("dialled hub %s, but the certificate names %s; its key is %v", c.want, naming(leaf), pin)
	}
	return "", PinMismatch, fmt.Sprintf("%v names hub %s but its key %v is not among the pins of that hub", c.role, c.want, pin)
}

func (c check) ownerOfCaller(leaf *x509.Certificate, pin Pin) (hub string, _ Code, detail string) {
	if hub, ok := c.trust.HubOf(pin); ok {
		return hub, "", ""
	}
	if name := claimed(leaf); name != "" {
		if _, ok := c.trust.PinsOf(name); ok {
			return "", PinMismatch, fmt.Sprintf("%v names hub %s but its key %v is not among the pins of that hub", c.role, name, pin)
		}
	}
	return "", UnknownPeer, fmt.Sprintf("%v names %s with key %v, and neither is an approved peer", c.role, naming(leaf), pin)
}

// usage requires the role's own usage by name. A certificate without usages,
// or with anyExtendedKeyUsage, permits nothing here: it was not made for links.
func (c check) usage(leaf *x509.Certificate) (Code, string) {
	if len(leaf.UnhandledCriticalExtensions) > 0 {
		return WrongKeyUsage, fmt.Sprintf("the certificate of %v has a critical extension that is not understood", c.role)
	}
	if leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return WrongKeyUsage, fmt.Sprintf("the certificate of %v lacks the key usage digitalSignature", c.role)
	}
	if need, name := c.role.usage(); !slices.Contains(leaf.ExtKeyUsage, need) {
		return WrongKeyUsage, fmt.Sprintf("the certificate of %v lacks the extended key usage %s", c.role, name)
	}
	return "", ""
}

// dates names the bound and the amount, since either clock may be the wrong one.
func (c check) dates(leaf *x509.Certificate) (Code, string) {
	if early := leaf.NotBefore.Sub(c.now); early > 0 {
		return CertificateNotYetValid, fmt.Sprintf("the certificate of %v is valid from %s, which is %v ahead of this node's clock",
			c.role, leaf.NotBefore.UTC().Format(time.RFC3339), early.Round(time.Second))
	}
	if late := c.now.Sub(leaf.NotAfter); late > 0 {
		return CertificateExpired, fmt.Sprintf("the certificate of %v was valid until %s, which is %v behind this node's clock",
			c.role, leaf.NotAfter.UTC().Format(time.RFC3339), late.Round(time.Second))
	}
	return "", ""
}

// names reports whether the certificate names this hub and no other.
func names(leaf *x509.Certificate, hub string) bool {
	hubs := hubsNamed(leaf)
	return len(hubs) == 1 && hubs[0] == hub && hub != ""
}

// claimed returns the one hub that the certificate names, or "".
func claimed(leaf *x509.Certificate) string {
	if hubs := hubsNamed(leaf); len(hubs) == 1 {
		return hubs[0]
	}
	return ""
}

// naming is for a sentence. It shows valid hub ids only, so a hostile
// certificate cannot write into a terminal or a log.
func naming(leaf *x509.Certificate) string {
	var valid []string
	for _, hub := range hubsNamed(leaf) {
		if hub != "" {
			valid = append(valid, hub)
		}
	}
	switch len(valid) {
	case 0:
		return "no hub"
	case 1:
		return "hub " + valid[0]
	default:
		return fmt.Sprintf("%d hubs (%s)", len(valid), strings.Join(valid[:2], ", "))
	}
}

// PeerOf returns who is at the other end of a completed link handshake. It
// panics on a state that no link handshake of this package can end in.
func PeerOf(state tls.ConnectionState) (hubID string, pin Pin) {
	if !state.HandshakeComplete || len(state.PeerCertificates) == 0 {
		panic("certs: PeerOf on a connection without a verified peer")
	}
	leaf := state.PeerCertificates[0]
	pin, err := pinOf(leaf)
	if err != nil {
		panic("certs: PeerOf: " + err.Error())
	}
	return claimed(leaf), pin
}
