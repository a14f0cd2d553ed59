package journal

import "google.golang.org/protobuf/encoding/protowire"

// PeerRejected ends what is pending for a key and refuses the key until it is approved. It keeps what an approval needs.
type PeerRejected struct {
	Hub      string // as the key's owner called itself, may be empty
	Pin      [32]byte
	By, User string

	Endpoints []string // HOST:PORT, as pending
	Invite    []byte   // the secret, if its invitation was taken here; never exported
}

// Kind is KindPeerRejected.
func (PeerRejected) Kind() Kind { return KindPeerRejected }

// Append appends the record's fields to dst.
func (r PeerRejected) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Hub)
	dst = appendFixed(dst, 2, r.Pin[:])
	dst = appendText(dst, 3, r.By)
	dst = appendText(dst, 4, r.User)
	dst = appendTexts(dst, 5, r.Endpoints)
	return appendSecret(dst, 6, r.Invite)
}

// ParsePeerRejected reads what Append wrote; unknown fields are an error.
func ParsePeerRejected(attrs []byte) (PeerRejected, error) {
	return parse(attrs, false, (*PeerRejected).field)
}

func (r *PeerRejected) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Hub = d.text()
	case 2:
		d.fixed(r.Pin[:])
	case 3:
		r.By = d.text()
	case 4:
		r.User = d.text()
	case 5:
		d.texts(&r.Endpoints)
	case 6:
		r.Invite = d.secret()
	default:
		d.unknown()
	}
}
