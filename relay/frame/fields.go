package frame

import (
	"encoding/hex"

	"fleetrelay/hub/wire"
)

// maxNumber is the exclusive bound of every number on a link: what any JSON implementation can hold exactly.
const maxNumber = 1 << 53

// fields reads the members of one header object and remembers the first thing that was wrong.
type fields struct {
	obj wire.Object
	err error
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = protocolError(format, args...)
	}
}

// only refuses members beyond the count that was read: with each of them present and names unique, a larger count is an
// unknown member.
func (f *fields) only(count int) {
	if len(f.obj.Members) != count {
		f.fail("%d members, want %d", len(f.obj.Members), count)
	}
}

func (f *fields) raw(name string) wire.Raw {
	raw, ok := f.obj.Get(name)
	if !ok {
		f.fail("member %s is missing", name)
		return wire.Raw("null")
	}
	return raw
}

func (f *fields) number(name string) uint64 {
	n, ok := f.raw(name).Int()
	if !ok || n < 0 || n >= maxNumber {
		f.fail("member %s is not a whole number from 0 to 2^53-1", name)
		return 0
	}
	return uint64(n)
}

func (f *fields) flag(name string) bool {
	b, ok := f.raw(name).Bool()
	if !ok {
		f.fail("member %s is not true or false", name)
	}
	return b
}

func (f *fields) text(name string) string {
	s, ok := f.raw(name).Text()
	if !ok {
		f.fail("member %s is not a string", name)
	}
	return s
}

func (f *fields) hub(name string) wire.HubID {
	id, err := wire.ParseHubID(f.text(name))
	if err != nil {
		f.fail("member %s is not a hub id", name)
	}
	return id
}

// hexTo fills dst from lower-case hexadecimal of exactly its size.
func (f *fields) hexTo(dst []byte, name string) {
	if !decodeHex(dst, []byte(f.text(name))) {
		f.fail("member %s is not %d bytes in lower-case hexadecimal", name, len(dst))
	}
}

func (f *fields) object(name string) fields {
	raw := f.raw(name)
	if f.err != nil {
		return fields{err: f.err}
	}
	obj, err := wire.ParseObject(raw, wire.Limits{MaxBytes: MaxHeader, MaxDepth: headerDepth})
	if err != nil {
		f.fail("member %s is not an object", name)
		return fields{err: f.err}
	}
	return fields{obj: obj}
}

// decodeHex accepts lower case only, so that every value has one spelling.
func decodeHex(dst, src []byte) bool {
	if len(src) != 2*len(dst) {
		return false
	}
	for _, c := range src {
		if c >= 'A' && c <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(dst, src)
	return err == nil
}

func appendHex(dst, src []byte) []byte {
	dst = append(dst, '"')
	dst = hex.AppendEncode(dst, src)
	return append(dst, '"')
}

// adopt takes over the error of a member that was an object.
func (f *fields) adopt(sub fields) {
	if f.err == nil {
		f.err = sub.err
	}
}
