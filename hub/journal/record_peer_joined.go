package journal

import "google.golang.org/protobuf/encoding/protowire"

// PeerJoined takes another hub's invitation: the hub is pending here until it is approved, and is called with the
// invite until then.
type PeerJoined struct {
	Hub       string
	Pin       [32]byte
	Endpoints []string // HOST:PORT
	Invite    []byte   // the secret; never exported
	ExpiresUS int64
	User      string // at the admin socket
}

// Kind is KindPeerJoined.
func (PeerJoined) Kind() Kind { return KindPeerJoined }

// Append appends the record's fields to dst.
func (r PeerJoined) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Hub)
	dst = appendFixed(dst, 2, r.Pin[:])
	dst = appendTexts(dst, 3, r.Endpoints)
	dst = appendSecret(dst, 4, r.Invite)
	dst = appendUint(dst, 5, uint64(r.ExpiresUS))
	return appendText(dst, 6, r.User)
}

// ParsePeerJoined reads what Append wrote; unknown fields are an error.
func ParsePeerJoined(attrs []byte) (PeerJoined, error) {
	return parse(attrs, false, (*PeerJoined).field)
}

func (r *PeerJoined) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Hub = d.text()
	case 2:
		d.fixed(r.Pin[:])
	case 3:
		d.texts(&r.Endpoints)
	case 4:
		r.Invite = d.secret()
	case 5:
		r.ExpiresUS = d.int()
	case 6:
		r.User = d.text()
	default:
		d.unknown()
	}
}
