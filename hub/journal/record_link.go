package journal

import "google.golang.org/protobuf/encoding/protowire"

// LinkOpened comes before anything is sent on a new link: every record up to Head, and every one accepted while the link
// is up, may have left from then on.
type LinkOpened struct {
	Peer    string `json:"peer"`
	Head    uint64 `json:"head"`             // of our lane to the peer
	Address string `json:"address,omitzero"` // of the other end
	Dialled bool   `json:"dialled,omitzero"` // by this side
}

// Kind is KindLinkOpened.
func (LinkOpened) Kind() Kind { return KindLinkOpened }

// Append appends the record's fields to dst.
func (r LinkOpened) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendUint(dst, 2, r.Head)
	dst = appendText(dst, 3, r.Address)
	return appendFlag(dst, 4, r.Dialled)
}

// ParseLinkOpened reads what Append wrote; unknown fields are an error.
func ParseLinkOpened(attrs []byte) (LinkOpened, error) {
	return parse(attrs, false, (*LinkOpened).field)
}

func (r *LinkOpened) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.Head = d.uint()
	case 3:
		r.Address = d.text()
	case 4:
		r.Dialled = d.flag()
	default:
		d.unknown()
	}
}

// LinkClosed ends a link of which it is known how far it came: no record above Sent has left on it. Without it, after a
// crash, all that was accepted by then may have left.
type LinkClosed struct {
	Peer   string `json:"peer"`
	Sent   uint64 `json:"sent"`
	Reason string `json:"reason,omitzero"`
}

// Kind is KindLinkClosed.
func (LinkClosed) Kind() Kind { return KindLinkClosed }

// Append appends the record's fields to dst.
func (r LinkClosed) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendUint(dst, 2, r.Sent)
	return appendText(dst, 3, r.Reason)
}

// ParseLinkClosed reads what Append wrote; unknown fields are an error.
func ParseLinkClosed(attrs []byte) (LinkClosed, error) {
	return parse(attrs, false, (*LinkClosed).field)
}

func (r *LinkClosed) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.Sent = d.uint()
	case 3:
		r.Reason = d.text()
	default:
		d.unknown()
	}
}
