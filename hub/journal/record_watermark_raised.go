package journal

import "google.golang.org/protobuf/encoding/protowire"

// WatermarkRaised moves what an identity has acknowledged of its mailbox.
type WatermarkRaised struct {
	Identity string `json:"identity"`
	Seq      uint64 `json:"seq"`
}

// Kind is KindWatermarkRaised.
func (WatermarkRaised) Kind() Kind { return KindWatermarkRaised }

// Append appends the record's fields to dst.
func (r WatermarkRaised) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Identity)
	return appendUint(dst, 2, r.Seq)
}

// ParseWatermarkRaised reads what Append wrote; unknown fields are an error.
func ParseWatermarkRaised(attrs []byte) (WatermarkRaised, error) {
	return parse(attrs, false, (*WatermarkRaised).field)
}

func (r *WatermarkRaised) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Identity = d.text()
	case 2:
		r.Seq = d.uint()
	default:
		d.unknown()
	}
}
