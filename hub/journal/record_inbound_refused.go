package journal

import "google.golang.org/protobuf/encoding/protowire"

// InboundRefused is a record of a peer that this hub did not admit; the body is the carried body.
type InboundRefused struct {
	Origin Origin
	Reason string
	// LaneHash is the lane's rolling hash up to and including this record: a record may be refused because its
	// origin block does not parse, and then the hash cannot be computed from Origin.
	LaneHash [32]byte
}

// Kind is KindInboundRefused.
func (InboundRefused) Kind() Kind { return KindInboundRefused }

// Append appends the record's fields to dst.
func (r InboundRefused) Append(dst []byte) []byte {
	if r.Origin != (Origin{}) {
		dst = appendOrigin(dst, 1, &r.Origin)
	}
	dst = appendText(dst, 2, r.Reason)
	return appendFixed(dst, 3, r.LaneHash[:])
}

// ParseInboundRefused reads what Append wrote; unknown fields are an error.
func ParseInboundRefused(attrs []byte) (InboundRefused, error) {
	return parse(attrs, false, (*InboundRefused).field)
}

func (r *InboundRefused) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Origin = d.origin()
		d.single(r.Origin == (Origin{}))
	case 2:
		r.Reason = d.text()
	case 3:
		d.fixed(r.LaneHash[:])
	default:
		d.unknown()
	}
}
