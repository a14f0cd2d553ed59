package journal

import "google.golang.org/protobuf/encoding/protowire"

// InviteCreated opens an invite: the first unknown key that shows its secret before it expires becomes a pending peer.
// Only the secret's hash is kept.
type InviteCreated struct {
	ID        string // 8 hexadecimal digits
	Hash      [32]byte
	By, User  string
	ExpiresUS int64
}

// Kind is KindInviteCreated.
func (InviteCreated) Kind() Kind { return KindInviteCreated }

// Append appends the record's fields to dst.
func (r InviteCreated) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.ID)
	dst = appendFixed(dst, 2, r.Hash[:])
	dst = appendText(dst, 3, r.By)
	dst = appendText(dst, 4, r.User)
	return appendUint(dst, 5, uint64(r.ExpiresUS))
}

// ParseInviteCreated reads what Append wrote; unknown fields are an error.
func ParseInviteCreated(attrs []byte) (InviteCreated, error) {
	return parse(attrs, false, (*InviteCreated).field)
}

func (r *InviteCreated) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.ID = d.text()
	case 2:
		d.fixed(r.Hash[:])
	case 3:
		r.By = d.text()
	case 4:
		r.User = d.text()
	case 5:
		r.ExpiresUS = d.int()
	default:
		d.unknown()
	}
}
