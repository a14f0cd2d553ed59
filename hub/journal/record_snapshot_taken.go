package journal

import "google.golang.org/protobuf/encoding/protowire"

// SnapshotTaken holds, as its body, the hot state after the event UpTo. It is derived: a newer one replaces its body.
type SnapshotTaken struct {
	UpTo uint64 `json:"up_to"`
}

// Kind is KindSnapshotTaken.
func (SnapshotTaken) Kind() Kind { return KindSnapshotTaken }

// Append appends the record's fields to dst.
func (r SnapshotTaken) Append(dst []byte) []byte {
	return appendUint(dst, 1, r.UpTo)
}

// ParseSnapshotTaken reads what Append wrote; unknown fields are an error.
func ParseSnapshotTaken(attrs []byte) (SnapshotTaken, error) {
	return parse(attrs, false, (*SnapshotTaken).field)
}

func (r *SnapshotTaken) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.UpTo = d.uint()
	default:
		d.unknown()
	}
}
