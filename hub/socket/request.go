package socket

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// refusedText is the body of a refused upgrade; clients match it.
const refusedText = "origin/host not allowed"

// CheckRequest says whether an upgrade may go on: 0 and "" if so, else the HTTP status and text of the refusal.
//
// Host must be one of allowedHosts (a name or address, with or without a port), or the very address the
// connection came in on, or a loopback name when that address is a loopback one. This keeps a browser whose DNS was
// rebound away from a local hub. Origin may be absent, as native clients have it; a present one must be in allowedOrigins
// word for word, letter case aside, and "null" never is.
func CheckRequest(r *http.Request, allowedHosts, allowedOrigins []string) (status int, text string) {
	if !hostAllowed(r, allowedHosts) || !originAllowed(r.Header.Values("Origin"), allowedOrigins) {
		return http.StatusForbidden, refusedText
	}
	return 0, ""
}

func hostAllowed(r *http.Request, allowed []string) bool {
	name := hostName(r.Host)
	if name == "" {
		return false
	}
	for _, a := range allowed {
		if strings.EqualFold(a, r.Host) || strings.EqualFold(a, name) {
			return true
		}
	}
	return namesLocal(name, localAddr(r))
}

// namesLocal tells whether name is the address addr itself, or a loopback name while addr is a loopback address.
func namesLocal(name string, addr netip.Addr) bool {
	if !addr.IsValid() {
		return false
	}
	if addr.IsLoopback() && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, strings.ToLower(name)) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap() == addr
}

// localAddr is the address the request's connection came in on, without a zone; invalid if unknown.
func localAddr(r *http.Request) netip.Addr {
	a, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if a == nil {
		return netip.Addr{}
	}
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}

// hostName strips the port and the brackets of an IPv6 address.
func hostName(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

func originAllowed(got, allowed []string) bool {
	if len(got) == 0 {
		return true
	}
	if len(got) > 1 || strings.EqualFold(got[0], "null") {
		return false
	}
	return slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, got[0]) })
}
