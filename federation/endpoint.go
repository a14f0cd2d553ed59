package federation

import (
	"net/netip"
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
// address, or an IPv6 address in brackets without a zone; a port from 1 to
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
		ip, err := netip.ParseAddr(inner)
		return ok && err == nil && ip.Is6() && ip.Zone() == ""
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
