package journal

import "google.golang.org/protobuf/encoding/protowire"

// LinkBackoff is when a peer that refused to link, or was refused, is tried next. It is written before the attempt.
// Without attempts it says that the peer is not waited for any more.
type LinkBackoff struct {
	Peer     string
	Attempts uint64 // refused since the last link that settled
	Reason   string // of the last one
	NextUS   int64  // Unix microseconds
	// RevokedUS is when the peer last said that it revoked its approval of this hub, 0 if a link has been up since.
	RevokedUS int64
}

// Kind is KindLinkBackoff.
func (LinkBackoff) Kind() Kind { return KindLinkBackoff }

// Append appends the record's fields to dst.
func (r LinkBackoff) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendUint(dst, 2, r.Attempts)
	dst = appendText(dst, 3, r.Reason)
	dst = appendUint(dst, 4, uint64(r.NextUS))
	return appendUint(dst, 5, uint64(r.RevokedUS))
}

// ParseLinkBackoff reads what Append wrote; unknown fields are an error.
func ParseLinkBackoff(attrs []byte) (LinkBackoff, error) {
	return parse(attrs, false, (*LinkBackoff).field)
}

func (r *LinkBackoff) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.Attempts = d.uint()
	case 3:
		r.Reason = d.text()
	case 4:
		r.NextUS = d.int()
	case 5:
		r.RevokedUS = d.int()
	default:
		d.unknown()
	}
}
