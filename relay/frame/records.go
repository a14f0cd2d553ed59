package frame

import (
	"math"
	"strconv"

	"fleetrelay/hub/wire"
)

// Batch builds one records frame. The zero value is ready; [Batch.Reset] makes it ready again and keeps its memory, so a
// link needs one. Bodies are not copied: they must not change until the frame was written.
type Batch struct {
	origins []byte
	sizes   []int // origin block, body, origin block, body, …
	bodies  [][]byte
	payload int
	first   uint64
	header  []byte
}

// Reset empties the batch for records from seq first on.
func (b *Batch) Reset(first uint64) {
	clear(b.bodies)
	b.origins, b.sizes, b.bodies = b.origins[:0], b.sizes[:0], b.bodies[:0]
	b.payload, b.first = 0, first
}

// Add appends the next record.
func (b *Batch) Add(o *Origin, body []byte) {
	start := len(b.origins)
	b.origins = o.Append(b.origins)
	size := len(b.origins) - start
	b.sizes = append(b.sizes, size, len(body))
	b.bodies = append(b.bodies, body)
	b.payload += size + len(body)
}

// Drop takes the last record out again; there must be one.
func (b *Batch) Drop() {
	n := len(b.bodies) - 1
	size := b.sizes[2*n]
	b.payload -= size + len(b.bodies[n])
	b.origins = b.origins[:len(b.origins)-size]
	b.sizes, b.bodies[n], b.bodies = b.sizes[:2*n], nil, b.bodies[:n]
}

// Len is the number of records, Bytes the size of the payload so far.
func (b *Batch) Len() int   { return len(b.bodies) }
func (b *Batch) Bytes() int { return b.payload }

// Chunks hands the frame to write piece by piece, in order, until write fails.
func (b *Batch) Chunks(write func(p []byte) error) error {
	b.header = b.appendHeader(b.header[:0])
	if err := write(b.header); err != nil {
		return err
	}
	at := 0
	for i, body := range b.bodies {
		end := at + b.sizes[2*i]
		if err := write(b.origins[at:end]); err != nil {
			return err
		}
		if err := write(body); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// Append appends the whole frame; [Batch.Chunks] avoids that copy.
func (b *Batch) Append(dst []byte) []byte {
	_ = b.Chunks(func(p []byte) error { dst = append(dst, p...); return nil })
	return dst
}

func (b *Batch) appendHeader(dst []byte) []byte {
	start := len(dst)
	dst = append(appendPrefix(dst), `{"type":"records","first":`...)
	dst = strconv.AppendUint(dst, b.first, 10)
	dst = append(dst, `,"sizes":[`...)
	for i, n := range b.sizes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return endHeader(append(dst, "]}"...), start, b.payload)
}

// Records is a parsed records frame: consecutive records from First on. The slices alias the frame's payload.
type Records struct {
	First uint64
	Items []Record
}

// Record is one record as it travelled: the bytes of its origin block and of its body, neither looked at yet.
type Record struct{ Origin, Body []byte }

// ParseRecords cuts the payload by the header's sizes. The sizes must be whole pairs, 1 to [MaxRecords] of them, origin
// blocks 1 to [MaxOrigin] bytes, and must add up to the payload exactly.
func ParseRecords(f Frame) (Records, error) {
	if f.Type != wire.LinkRecords {
		return Records{}, protocolError("%s is not records", f.Type)
	}
	in := fields{obj: f.header}
	rs := Records{First: in.number("first")}
	sizes := in.sizes("sizes")
	in.only(3)
	if in.err == nil && (rs.First == 0 || rs.First+uint64(len(sizes)/2) > maxNumber) {
		in.fail("records from %d", rs.First)
	}
	if in.err != nil {
		return Records{}, in.err
	}
	items, err := cut(f.Payload, sizes)
	rs.Items = items
	return rs, err
}

func (f *fields) sizes(name string) []uint32 {
	raw := f.raw(name)
	if f.err != nil {
		return nil
	}
	sizes, ok := appendSizes(make([]uint32, 0, 64), raw)
	switch {
	case !ok:
		f.fail("member %s is not a list of sizes", name)
	case len(sizes) == 0 || len(sizes)%2 != 0:
		f.fail("%d sizes", len(sizes))
	}
	return sizes
}

// appendSizes reads a list of whole numbers below 2^32 out of a valid JSON value. It is not left to the codec, which
// reads null as 0, and need not be: in a valid list of such numbers there are only digits, commas and space.
func appendSizes(dst []uint32, raw wire.Raw) ([]uint32, bool) {
	if raw.Kind() != '[' {
		return nil, false
	}
	number, digits := uint64(0), 0
	for _, c := range raw[1:] {
		switch {
		case c >= '0' && c <= '9':
			number, digits = number*10+uint64(c-'0'), digits+1
			if number > math.MaxUint32 {
				return nil, false
			}
		case c == ',' || c == ']':
			if digits > 0 {
				dst = append(dst, uint32(number))
			}
			number, digits = 0, 0
		case c > ' ':
			return nil, false
		}
		if len(dst) > 2*MaxRecords {
			return nil, false
		}
	}
	return dst, true
}

func cut(payload []byte, sizes []uint32) ([]Record, error) {
	items := make([]Record, 0, len(sizes)/2)
	for i := 0; i < len(sizes); i += 2 {
		origin, body := int64(sizes[i]), int64(sizes[i+1])
		if origin == 0 || origin > MaxOrigin {
			return nil, protocolError("origin block of %d bytes", origin)
		}
		if origin+body > int64(len(payload)) {
			return nil, protocolError("sizes beyond the payload")
		}
		items = append(items, Record{Origin: payload[:origin:origin], Body: payload[origin : origin+body : origin+body]})
		payload = payload[origin+body:]
	}
	if len(payload) != 0 {
		return nil, protocolError("%d bytes of payload beyond the sizes", len(payload))
	}
	return items, nil
}
