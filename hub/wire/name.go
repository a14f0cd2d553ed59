package wire

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ValidLocalName checks a name an agent of this hub wants to bear, already trimmed.
// It must not be empty, hold '@' (those names are seats on other hubs), be one of the
// hub's own names in any letter case, exceed 256 bytes, or hold characters with
// which two different names could look the same: control, zero-width and direction
// characters, and text that is not in Unicode normal form C. The reason is
// reserved_identity or invalid_name; both close with the same words.
func ValidLocalName(s string) *FrameError {
	switch {
	case strings.Contains(s, "@"):
		return refuseName(ReasonReservedIdentity, "A name with '@' is a seat on another hub and cannot be registered here.")
	case reserved(s):
		return refuseName(ReasonReservedIdentity, "That name is the hub's own; choose another one.")
	case s == "" || trim(s) != s:
		return refuseName(ReasonInvalidName, "A name must not be blank or have space around it.")
	case len(s) > MaxNameBytes:
		return refuseName(ReasonInvalidName, "A name has at most 256 bytes.")
	case strings.ContainsFunc(s, hidden) || !norm.NFC.IsNormalString(s):
		return refuseName(ReasonInvalidName, "A name must not hold control, zero-width or direction characters and must be in Unicode normal form C.")
	}
	return nil
}

func refuseName(reason Reason, text string) *FrameError {
	return &FrameError{Reason: reason, Text: text}
}

func reserved(s string) bool {
	for _, own := range []string{HubSender, "synapse", "system"} {
		if strings.EqualFold(trim(s), own) {
			return true
		}
	}
	return false
}

// hidden tells whether a character does not show or moves others: control and
// format characters, line and paragraph separators, fillers, variation selectors,
// and the replacement of what was no character.
func hidden(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r == unicode.ReplacementChar:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector)
}

// Project is the part of a name up to the first '/', or the whole name.
func Project(name string) string {
	project, _, _ := strings.Cut(name, "/")
	return project
}

// LogicalIdentity returns the identity behind a name: X for the sidecars X-rx (a
// receive-only listener) and X-pane-rx (a pane bridge), the name itself otherwise.
func LogicalIdentity(name string) (identity string, sidecar bool) {
	for _, suffix := range []string{"-pane-rx", "-rx"} {
		if id, ok := strings.CutSuffix(name, suffix); ok && id != "" {
			return id, true
		}
	}
	return name, false
}
