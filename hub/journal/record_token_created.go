package journal

import "google.golang.org/protobuf/encoding/protowire"

// TokenCreated admits an agent token. Only its hash is kept.
type TokenCreated struct {
	ID, Seat, By string
	Hash         [32]byte
}

// Kind is KindTokenCreated.
func (TokenCreated) Kind() Kind { return KindTokenCreated }

// Append appends the record's fields to dst.
func (r TokenCreated) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.ID)
	dst = appendText(dst, 2, r.Seat)
	dst = appendText(dst, 3, r.By)
	return appendFixed(dst, 4, r.Hash[:])
}

// ParseTokenCreated reads what Append wrote; unknown fields are an error.
func ParseTokenCreated(attrs []byte) (TokenCreated, error) {
	return parse(attrs, false, (*TokenCreated).field)
}

func (r *TokenCreated) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.ID = d.text()
	case 2:
		r.Seat = d.text()
	case 3:
		r.By = d.text()
	case 4:
		d.fixed(r.Hash[:])
	default:
		d.unknown()
	}
}
