package journal

import "google.golang.org/protobuf/encoding/protowire"

// InviteWithdrawn ends an invite before its time: nobody who calls with its secret becomes pending any more.
type InviteWithdrawn struct {
	ID       string // 8 hexadecimal digits
	By, User string
}

// Kind is KindInviteWithdrawn.
func (InviteWithdrawn) Kind() Kind { return KindInviteWithdrawn }

// Append appends the record's fields to dst.
func (r InviteWithdrawn) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.ID)
	dst = appendText(dst, 2, r.By)
	return appendText(dst, 3, r.User)
}

// ParseInviteWithdrawn reads what Append wrote; unknown fields are an error.
func ParseInviteWithdrawn(attrs []byte) (InviteWithdrawn, error) {
	return parse(attrs, false, (*InviteWithdrawn).field)
}

func (r *InviteWithdrawn) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.ID = d.text()
	case 2:
		r.By = d.text()
	case 3:
		r.User = d.text()
	default:
		d.unknown()
	}
}
