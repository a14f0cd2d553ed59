package journal

import "google.golang.org/protobuf/encoding/protowire"

// TokenRevoked ends an agent token.
type TokenRevoked struct {
	ID string `json:"id"`
	By string `json:"by"`
}

// Kind is KindTokenRevoked.
func (TokenRevoked) Kind() Kind { return KindTokenRevoked }

// Append appends the record's fields to dst.
func (r TokenRevoked) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.ID)
	return appendText(dst, 2, r.By)
}

// ParseTokenRevoked reads what Append wrote; unknown fields are an error.
func ParseTokenRevoked(attrs []byte) (TokenRevoked, error) {
	return parse(attrs, false, (*TokenRevoked).field)
}

func (r *TokenRevoked) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.ID = d.text()
	case 2:
		r.By = d.text()
	default:
		d.unknown()
	}
}
