package journal

import "google.golang.org/protobuf/encoding/protowire"

// EpochStarted opens an epoch of this node: its journal was created, or restored from a copy.
type EpochStarted struct {
	HubID  string
	Number uint64   // raised by every creation or restore
	ID     [16]byte // random; two epochs with one number and two ids are a clone
}

// Kind is KindEpochStarted.
func (EpochStarted) Kind() Kind { return KindEpochStarted }

// Append appends the record's fields to dst.
func (r EpochStarted) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.HubID)
	dst = appendUint(dst, 2, r.Number)
	return appendFixed(dst, 3, r.ID[:])
}

// ParseEpochStarted reads what Append wrote; unknown fields are an error.
func ParseEpochStarted(attrs []byte) (EpochStarted, error) {
	return parse(attrs, false, (*EpochStarted).field)
}

func (r *EpochStarted) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.HubID = d.text()
	case 2:
		r.Number = d.uint()
	case 3:
		d.fixed(r.ID[:])
	default:
		d.unknown()
	}
}
