package journal

import "google.golang.org/protobuf/encoding/protowire"

// BodyPurged is the tombstone of one body, which is deleted in the same batch. Seq is that event, Digest its body.
type BodyPurged struct {
	Seq        uint64
	Digest     [32]byte
	By, Reason string
}

// Kind is KindBodyPurged.
func (BodyPurged) Kind() Kind { return KindBodyPurged }

// Append appends the record's fields to dst.
func (r BodyPurged) Append(dst []byte) []byte {
	dst = appendUint(dst, 1, r.Seq)
	dst = appendFixed(dst, 2, r.Digest[:])
	dst = appendText(dst, 3, r.By)
	return appendText(dst, 4, r.Reason)
}

// ParseBodyPurged reads what Append wrote; unknown fields are an error.
func ParseBodyPurged(attrs []byte) (BodyPurged, error) {
	return parse(attrs, false, (*BodyPurged).field)
}

func (r *BodyPurged) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Seq = d.uint()
	case 2:
		d.fixed(r.Digest[:])
	case 3:
		r.By = d.text()
	case 4:
		r.Reason = d.text()
	default:
		d.unknown()
	}
}
