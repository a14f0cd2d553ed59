package journal

import "google.golang.org/protobuf/encoding/protowire"

// PeerRevoked ends the approval of a hub. Its keys stay refused and its lanes held until it is approved again.
type PeerRevoked struct {
	Hub  string `json:"hub"`
	By   string `json:"by"`
	User string `json:"user"`
	Why  string `json:"why"`
}

// Kind is KindPeerRevoked.
func (PeerRevoked) Kind() Kind { return KindPeerRevoked }

// Append appends the record's fields to dst.
func (r PeerRevoked) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Hub)
	dst = appendText(dst, 2, r.By)
	dst = appendText(dst, 3, r.User)
	return appendText(dst, 4, r.Why)
}

// ParsePeerRevoked reads what Append wrote; unknown fields are an error.
func ParsePeerRevoked(attrs []byte) (PeerRevoked, error) {
	return parse(attrs, false, (*PeerRevoked).field)
}

func (r *PeerRevoked) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Hub = d.text()
	case 2:
		r.By = d.text()
	case 3:
		r.User = d.text()
	case 4:
		r.Why = d.text()
	default:
		d.unknown()
	}
}
