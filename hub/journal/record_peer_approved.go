package journal

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// PeerApproved approves another hub, anew if it is approved already or was revoked, and ends what was pending for
// its keys.
type PeerApproved struct {
	Hub       string
	Endpoints []string // HOST:PORT; none = only it dials
	Pins      [][32]byte
	MayReach  []string // patterns
	By, User  string   // who approved, and the admin socket user
	Invite    []byte   // the secret shown when dialling it; never exported
}

// Kind is KindPeerApproved.
func (PeerApproved) Kind() Kind { return KindPeerApproved }

// Append appends the record's fields to dst.
func (r PeerApproved) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Hub)
	dst = appendTexts(dst, 2, r.Endpoints)
	for i := range r.Pins {
		dst = appendBytes(dst, 3, r.Pins[i][:])
	}
	dst = appendTexts(dst, 4, r.MayReach)
	dst = appendText(dst, 5, r.By)
	dst = appendText(dst, 6, r.User)
	return appendSecret(dst, 7, r.Invite)
}

// ParsePeerApproved reads what Append wrote; unknown fields are an error.
func ParsePeerApproved(attrs []byte) (PeerApproved, error) {
	return parse(attrs, false, (*PeerApproved).field)
}

func (r *PeerApproved) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Hub = d.text()
	case 2:
		d.texts(&r.Endpoints)
	case 3:
		r.Pins = append(r.Pins, d.pin())
	case 4:
		d.texts(&r.MayReach)
	case 5:
		r.By = d.text()
	case 6:
		r.User = d.text()
	case 7:
		r.Invite = d.secret()
	default:
		d.unknown()
	}
}

// pin is one 32-byte element of a repeated field.
func (d *decoder) pin() (pin [32]byte) {
	v := d.bytes()
	if len(v) != len(pin) {
		d.fail(errField)
	}
	copy(pin[:], v)
	return pin
}

// appendSecret appends the secret of an invite, or nothing when there is none.
func appendSecret(dst []byte, num protowire.Number, secret []byte) []byte {
	if len(secret) == 0 {
		return dst
	}
	return appendBytes(dst, num, secret)
}

// secret is a non-empty byte string that occurs once.
func (d *decoder) secret() []byte {
	v := d.bytes()
	d.single(len(v) == 0)
	return bytes.Clone(v)
}
