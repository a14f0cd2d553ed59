package certs

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"strings"
)

// pinPrefix names the hash, so that another one can be told apart later.
const pinPrefix = "sha256:"

// ErrPinSyntax means that a text is not a pin as [Pin.String] writes it.
var ErrPinSyntax = errors.New(`certs: a pin is "sha256:" and 64 hexadecimal digits`)

// Pin is the SHA-256 of a public key in its one canonical encoding
// (SubjectPublicKeyInfo, DER). It identifies a key and so a node.
type Pin [sha256.Size]byte

// String returns "sha256:" and 64 lower-case hexadecimal digits. Hexadecimal
// and not base64, since operators read pins to each other over the phone.
func (p Pin) String() string { return pinPrefix + hex.EncodeToString(p[:]) }

// ParsePin reads what [Pin.String] writes; the digits may be upper case. The
// error is [ErrPinSyntax].
func ParsePin(s string) (Pin, error) {
	digits, ok := strings.CutPrefix(s, pinPrefix)
	if !ok {
		return Pin{}, ErrPinSyntax
	}
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != sha256.Size {
		return Pin{}, ErrPinSyntax
	}
	return Pin(raw), nil
}

// pinOf encodes the key again instead of hashing the certificate's bytes: one
// key must not have two pins through another encoding.
func pinOf(leaf *x509.Certificate) (Pin, error) {
	der, err := x509.MarshalPKIXPublicKey(leaf.PublicKey)
	if err != nil {
		return Pin{}, err
	}
	return sha256.Sum256(der), nil
}
