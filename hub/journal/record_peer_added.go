package journal

import "google.golang.org/protobuf/encoding/protowire"

// PeerAdded approves another hub.
type PeerAdded struct {
	Hub, Endpoint string
	Pins          [][32]byte
	MayReach      []string // patterns
	By, User      string   // who approved, and the admin socket user
}

// Kind is KindPeerAdded.
func (PeerAdded) Kind() Kind { return KindPeerAdded }

// Append appends the record's fields to dst.
func (r PeerAdded) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Hub)
	dst = appendText(dst, 2, r.Endpoint)
	for i := range r.Pins {
		dst = appendBytes(dst, 3, r.Pins[i][:])
	}
	dst = appendTexts(dst, 4, r.MayReach)
	dst = appendText(dst, 5, r.By)
	return appendText(dst, 6, r.User)
}

// ParsePeerAdded reads what Append wrote; unknown fields are an error.
func ParsePeerAdded(attrs []byte) (PeerAdded, error) { return parse(attrs, false, (*PeerAdded).field) }

func (r *PeerAdded) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Hub = d.text()
	case 2:
		r.Endpoint = d.text()
	case 3:
		r.Pins = append(r.Pins, d.pin())
	case 4:
		d.texts(&r.MayReach)
	case 5:
		r.By = d.text()
	case 6:
		r.User = d.text()
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
