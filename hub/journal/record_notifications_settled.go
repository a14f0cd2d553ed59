package journal

import "google.golang.org/protobuf/encoding/protowire"

// NotificationsSettled removes notification rows that their sender has been shown.
type NotificationsSettled struct {
	Sender string   `json:"sender"`
	Seqs   []uint64 `json:"seqs"` // event seqs of the rows, none of them 0
}

// Kind is KindNotificationsSettled.
func (NotificationsSettled) Kind() Kind { return KindNotificationsSettled }

// Append appends the record's fields to dst.
func (r NotificationsSettled) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Sender)
	for _, seq := range r.Seqs {
		dst = protowire.AppendTag(dst, 2, protowire.VarintType)
		dst = protowire.AppendVarint(dst, seq)
	}
	return dst
}

// ParseNotificationsSettled reads what Append wrote; unknown fields are an error.
func ParseNotificationsSettled(attrs []byte) (NotificationsSettled, error) {
	return parse(attrs, false, (*NotificationsSettled).field)
}

func (r *NotificationsSettled) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Sender = d.text()
	case 2:
		r.Seqs = append(r.Seqs, d.varint())
	default:
		d.unknown()
	}
}
