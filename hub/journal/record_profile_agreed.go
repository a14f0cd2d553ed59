package journal

import "google.golang.org/protobuf/encoding/protowire"

// ProfileAgreed is what a link to a peer admits since both sides said the same.
type ProfileAgreed struct {
	Peer    string
	Number  uint64 // of this peer's profiles, from 1
	Version uint64 // relay version
	Chat    bool
	// Receipts is 0 for none, 1 for immediate, 2 for deferred.
	Receipts                             uint64
	Roster                               bool
	MaxBodyBytes, MaxFrameBytes, MaxHops uint64
}

// Kind is KindProfileAgreed.
func (ProfileAgreed) Kind() Kind { return KindProfileAgreed }

// Append appends the record's fields to dst.
func (r ProfileAgreed) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendUint(dst, 2, r.Number)
	dst = appendUint(dst, 3, r.Version)
	dst = appendFlag(dst, 4, r.Chat)
	dst = appendUint(dst, 5, r.Receipts)
	dst = appendFlag(dst, 6, r.Roster)
	dst = appendUint(dst, 7, r.MaxBodyBytes)
	dst = appendUint(dst, 8, r.MaxFrameBytes)
	return appendUint(dst, 9, r.MaxHops)
}

// ParseProfileAgreed reads what Append wrote; unknown fields are an error.
func ParseProfileAgreed(attrs []byte) (ProfileAgreed, error) {
	return parse(attrs, false, (*ProfileAgreed).field)
}

func (r *ProfileAgreed) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.Number = d.uint()
	case 3:
		r.Version = d.uint()
	case 4:
		r.Chat = d.flag()
	case 5:
		r.Receipts = d.uint()
	case 6:
		r.Roster = d.flag()
	case 7:
		r.MaxBodyBytes = d.uint()
	case 8:
		r.MaxFrameBytes = d.uint()
	case 9:
		r.MaxHops = d.uint()
	default:
		d.unknown()
	}
}
