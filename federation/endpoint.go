package federation

import (
	"strconv"
	"strings"

	"fleetrelay/hub/wire"
)

const (
	// MaxEndpoints bounds the endpoints of one hub.
	MaxEndpoints = 8
	// MaxEndpointBytes bounds one: the longest DNS name, a colon, five digits,
	// and what brackets would take.
	MaxEndpointBytes = 261
)

// ValidEndpoint tells whether s is plain HOST:PORT: a DNS name or an IPv4
// address, or an IPv6 address in brackets, of hexadecimal groups only, without a zone; a port from 1 to
// 65535 without leading zeros. Nothing that such a text holds can be mistaken
// for anything else in a log, a command line or a terminal.
func ValidEndpoint(s string) bool {
	at := strings.LastIndexByte(s, ':')
	if at < 1 || len(s) > MaxEndpointBytes {
		return false
	}
	host, port := s[:at], s[at+1:]
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && plainIPv6(inner)
	}
	return plainHost(host)
}

// plainHost tells whether a host holds nothing but letters, digits, '-', '_'
// and '.', beginning with a letter or digit.
func plainHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return host != ""
}

// plainIPv6 tells whether s is eight groups of one to four hexadecimal digits,
// of which one or more in one place may be left out as "::". A pure package has
// no library for it.
func plainIPv6(s string) bool {
	head, tail, short := strings.Cut(s, "::")
	n, ok := groups(head, short)
	m, okTail := groups(tail, true)
	if !ok || !okTail || strings.Contains(tail, "::") {
		return false
	}
	return short && n+m < 8 || !short && n == 8
}

// groups counts the groups of a part of an address, which may be empty beside
// the place of those left out.
func groups(part string, mayBeEmpty bool) (n int, ok bool) {
	if part == "" {
		return 0, mayBeEmpty
	}
	for group := range strings.SplitSeq(part, ":") {
		if n++; group == "" || len(group) > 4 || strings.Trim(group, "0123456789abcdefABCDEF") != "" {
			return 0, false
		}
	}
	return n, true
}

// CheckEndpoints decides whether these can be the endpoints of one hub; none is
// fine. The error is a [*Refusal] with invalid_address.
func CheckEndpoints(list []string) error {
	if len(list) > MaxEndpoints {
		return refuse(wire.ReasonInvalidAddress, "There are %d endpoints, and a hub has at most %d.", len(list), MaxEndpoints)
	}
	for _, e := range list {
		if !ValidEndpoint(e) {
			return refuse(wire.ReasonInvalidAddress, "The endpoint %q is not HOST:PORT.", e)
		}
	}
	return nil
}
