package journal

import "google.golang.org/protobuf/encoding/protowire"

// RecordQuarantined is a command whose decision failed; the body is its bytes.
type RecordQuarantined struct {
	Source  string `json:"source"`
	Command string `json:"command"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
}

// Kind is KindRecordQuarantined.
func (RecordQuarantined) Kind() Kind { return KindRecordQuarantined }

// Append appends the record's fields to dst.
func (r RecordQuarantined) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Source)
	dst = appendText(dst, 2, r.Command)
	dst = appendText(dst, 3, r.Reason)
	return appendText(dst, 4, r.Detail)
}

// ParseRecordQuarantined reads what Append wrote; unknown fields are an error.
func ParseRecordQuarantined(attrs []byte) (RecordQuarantined, error) {
	return parse(attrs, false, (*RecordQuarantined).field)
}

func (r *RecordQuarantined) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Source = d.text()
	case 2:
		r.Command = d.text()
	case 3:
		r.Reason = d.text()
	case 4:
		r.Detail = d.text()
	default:
		d.unknown()
	}
}
