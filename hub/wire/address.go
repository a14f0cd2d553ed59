package wire

import (
	"strings"
	"unicode"
)

// HubID names a hub: one to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit.
type HubID string

// MaxHubIDBytes is the longest hub id.
const MaxHubIDBytes = 64

// ParseHubID checks a hub id. The error is a *FrameError with invalid_hub_id.
func ParseHubID(s string) (HubID, error) {
	bad := len(s) == 0 || len(s) > MaxHubIDBytes
	for i := 0; i < len(s) && !bad; i++ {
		bad = !hubIDByte(s[i], i == 0)
	}
	if bad {
		return "", &FrameError{Reason: ReasonInvalidHubID, Text: "A hub id is 1 to 64 of A-Z a-z 0-9 . _ - and starts with a letter or digit."}
	}
	return HubID(s), nil
}

func hubIDByte(c byte, first bool) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', isDigit(c):
		return true
	}
	return !first && (c == '.' || c == '_' || c == '-')
}

// SimilarHubIDs tells whether two ids are equal, differ only in letter case, or look
// alike in common fonts: 0 and o; 1, I and l; _ and -; rn and m; vv and w. Case and
// looks are folded separately: folding both at once would make every i an l.
func SimilarHubIDs(a, b HubID) bool {
	return strings.EqualFold(string(a), string(b)) || lookAlike(string(a)) == lookAlike(string(b))
}

func lookAlike(s string) string {
	s = strings.NewReplacer("I", "l", "1", "l", "0", "o", "O", "o", "_", "-").Replace(s)
	return strings.NewReplacer("rn", "m", "vv", "w").Replace(strings.ToLower(s))
}

// Address is one seat, here or on another hub.
type Address struct {
	Name string
	Hub  HubID // "" is this hub
}

// MaxNameBytes bounds a name in UTF-8 bytes.
const MaxNameBytes = 256

// ParseAddress reads NAME or NAME@HUB, split at the last '@'. With a hub the name
// must be able to be exactly one seat: it is not "all" and holds no comma, pattern
// character, space at an end or control character. The error is a *FrameError with
// invalid_address.
func ParseAddress(s string) (Address, error) {
	s = trim(s)
	name, hub, remote := cutLast(s, '@')
	if !remote {
		if s == "" || len(s) > MaxNameBytes {
			return Address{}, invalidAddress()
		}
		return Address{Name: s}, nil
	}
	id, err := ParseHubID(hub)
	if err != nil || !oneSeat(name) {
		return Address{}, invalidAddress()
	}
	return Address{Name: name, Hub: id}, nil
}

// String is the form ParseAddress reads.
func (a Address) String() string {
	if a.Hub == "" {
		return a.Name
	}
	return a.Name + "@" + string(a.Hub)
}

func oneSeat(name string) bool {
	if name == "" || name == TargetAll || len(name) > MaxNameBytes || trim(name) != name {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return strings.ContainsRune(",*?[", r) || unicode.IsControl(r)
	})
}

func invalidAddress() error {
	return &FrameError{Reason: ReasonInvalidAddress, Text: "The target is not an address of the form NAME or NAME@HUB."}
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
