package journal

import "google.golang.org/protobuf/encoding/protowire"

// PeerRejected ends what is pending for a key and refuses the key until it is approved.
type PeerRejected struct {
	Hub      string // as the key's owner called itself, may be empty
	Pin      [32]byte
	By, User string
}

// Kind is KindPeerRejected.
func (PeerRejected) Kind() Kind { return KindPeerRejected }

// Append appends the record's fields to dst.
func (r PeerRejected) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Hub)
	dst = appendFixed(dst, 2, r.Pin[:])
	dst = appendText(dst, 3, r.By)
	return appendText(dst, 4, r.User)
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
	default:
		d.unknown()
	}
}
