package federation

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"fleetrelay/hub/wire"
)

// crockford are the digits of a code: no I, L, O and U, so that it can be read
// aloud and typed again.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const (
	codeLabel  = "fleet-peering-code-1\x00"
	codeDigits = 16 // 80 bits
	codeGroup  = 4
	// codeRounds makes each try dear for one who controls the keys that both
	// sides see and looks for two with one code: without them about 2^40 cheap
	// hashes would do. It costs who asks about a millisecond.
	codeRounds = 1 << 14
)

// Code is what two operators read to each other when their hubs peer: it is the
// same on both sides exactly if each sees the other's own hub id and key. It
// does not depend on the order of the two. XXXX-XXXX-XXXX-XXXX:
// the first 80 bits in Crockford's base 32 of the SHA-256 of t, taken 16,384
// times more over the last result and t, where t is the label and for both, in
// the order of their hub ids, the id's length as u32, the id and the pin.
func Code(a wire.HubID, ap Pin, b wire.HubID, bp Pin) string {
	type side struct {
		hub wire.HubID
		pin Pin
	}
	sides := []side{{a, ap}, {b, bp}}
	slices.SortFunc(sides, func(x, y side) int {
		return cmp.Or(cmp.Compare(x.hub, y.hub), bytes.Compare(x.pin[:], y.pin[:]))
	})
	text := []byte(codeLabel)
	for _, s := range sides {
		text = binary.BigEndian.AppendUint32(text, uint32(len(s.hub)))
		text = append(append(text, s.hub...), s.pin[:]...)
	}
	sum := sha256.Sum256(text)
	round := append(make([]byte, len(sum)), text...)
	for range codeRounds {
		copy(round, sum[:])
		sum = sha256.Sum256(round)
	}
	return grouped(sum)
}

// grouped writes the first 80 bits.
func grouped(sum [32]byte) string {
	var b strings.Builder
	for i := range codeDigits {
		if i > 0 && i%codeGroup == 0 {
			b.WriteByte('-')
		}
		bit := 5 * i
		two := binary.BigEndian.Uint16(sum[bit/8:])
		b.WriteByte(crockford[two>>(11-bit%8)&31])
	}
	return b.String()
}

// ParseCode reads a code as people type it: either case, dashes and spaces
// anywhere or nowhere, O for 0 and I or L for 1. It returns the code as [Code]
// writes it; false if s is none.
func ParseCode(s string) (string, bool) {
	var digits []byte
	for _, r := range strings.ToUpper(s) {
		switch r {
		case '-', ' ':
			continue
		case 'O':
			r = '0'
		case 'I', 'L':
			r = '1'
		}
		if len(digits) == codeDigits || !strings.ContainsRune(crockford, r) {
			return "", false
		}
		digits = append(digits, byte(r))
	}
	if len(digits) != codeDigits {
		return "", false
	}
	groups := slices.Collect(slices.Chunk(digits, codeGroup))
	return string(bytes.Join(groups, []byte("-"))), true
}
