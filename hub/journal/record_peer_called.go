package journal

import "google.golang.org/protobuf/encoding/protowire"

// PeerCalled uses an invite up: an unknown key called with its secret and is pending until it is approved or rejected.
// Hub and endpoints are what the key's owner says of itself.
type PeerCalled struct {
	Hub       string
	Pin       [32]byte
	Endpoints []string // HOST:PORT
	Host      string   // it called from
	InviteID  string
}

// Kind is KindPeerCalled.
func (PeerCalled) Kind() Kind { return KindPeerCalled }

// Append appends the record's fields to dst.
func (r PeerCalled) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Hub)
	dst = appendFixed(dst, 2, r.Pin[:])
	dst = appendTexts(dst, 3, r.Endpoints)
	dst = appendText(dst, 4, r.Host)
	return appendText(dst, 5, r.InviteID)
}

// ParsePeerCalled reads what Append wrote; unknown fields are an error.
func ParsePeerCalled(attrs []byte) (PeerCalled, error) {
	return parse(attrs, false, (*PeerCalled).field)
}

func (r *PeerCalled) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Hub = d.text()
	case 2:
		d.fixed(r.Pin[:])
	case 3:
		d.texts(&r.Endpoints)
	case 4:
		r.Host = d.text()
	case 5:
		r.InviteID = d.text()
	default:
		d.unknown()
	}
}
