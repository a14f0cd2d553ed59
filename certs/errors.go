package certs

import "errors"

// Code says why a certificate was refused. The words are part of the node's
// list of reasons and map to it one to one.
type Code string

// The closed list of codes.
const (
	// PinMismatch: the certificate names the expected hub but holds another key.
	PinMismatch Code = "pin_mismatch"
	// WrongHubID: the certificate names another hub, several, or none.
	WrongHubID Code = "wrong_hub_id"
	// UnknownPeer: neither the key nor the hub is that of an approved peer.
	UnknownPeer Code = "unknown_peer"
	// PeerRevoked: the key was that of an approved peer, and is not any more.
	PeerRevoked Code = "peer_revoked"
	// PeerRejected: an operator turned this key away.
	PeerRejected Code = "peer_rejected"
	// NoCertificate: the other side presented none.
	NoCertificate Code = "no_certificate"
	// CertificateExpired: this node's clock is past the certificate's end.
	CertificateExpired Code = "certificate_expired"
	// CertificateNotYetValid: this node's clock is before its beginning.
	CertificateNotYetValid Code = "certificate_not_yet_valid"
	// WrongKeyUsage: the certificate does not permit the role it is used in.
	WrongKeyUsage Code = "wrong_key_usage"
)

// Codes returns every code, in the order of their declaration.
func Codes() []Code {
	return []Code{
		PinMismatch, WrongHubID, UnknownPeer, PeerRevoked, PeerRejected, NoCertificate,
		CertificateExpired, CertificateNotYetValid, WrongKeyUsage,
	}
}

// Error is the refusal of the other side's certificate in a handshake. It is
// for this node's operator; the other side sees only a TLS alert. It is final
// for the attempt: no other path may be tried instead.
type Error struct {
	Code Code
	// Detail is a sentence naming the side and what is missing or by how much.
	Detail string
	// Hub is the id that the certificate claims, "" if it names none. On a
	// refusal it is a claim and proves nothing.
	Hub string
	// Pin is the key's pin, zero without a certificate. While accepting, the
	// possession of the key is not proven when the refusal happens.
	Pin Pin
	// Signed means that the certificate is signed by its own key, so that the
	// key's owner wrote what it says, whoever shows it.
	Signed bool
	// Invite and Endpoints are what the certificate says as a [Call]; nothing
	// unless Signed. Bounded as a Call is, and of its form. Invite is a secret.
	Invite    []byte
	Endpoints []string
}

// Error returns the code and the detail.
func (e *Error) Error() string { return "certs: " + string(e.Code) + ": " + e.Detail }

// Errors of the identity's files; those returned wrap one of them and name
// the file.
var (
	// ErrExists means that the folder already holds an identity.
	ErrExists = errors.New("certs: an identity exists already")
	// ErrMissing means that the folder holds no identity.
	ErrMissing = errors.New("certs: no identity")
	// ErrKeyTooOpen means that others than its owner may open a key file.
	ErrKeyTooOpen = errors.New("certs: key file is open to others")
	// ErrDamaged means that the files exist and are not a usable identity.
	ErrDamaged = errors.New("certs: identity is damaged")
	// ErrHubID means that a text cannot be a hub id.
	ErrHubID = errors.New("certs: not a hub id")
	// ErrExpired means that a certificate of this node is outside its dates.
	ErrExpired = errors.New("certs: certificate is outside its dates")
)
