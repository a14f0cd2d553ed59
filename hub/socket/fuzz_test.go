package socket

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// requestCheck is CheckRequest, or one with a planted bug.
type requestCheck func(r *http.Request, hosts, origins []string) (status int, text string)

var (
	fuzzHosts   = []string{"hub.example", "other.example:9000"}
	fuzzOrigins = []string{"https://console.example"}
)

// requestFault holds that an upgrade passes only for a listed host, the very address it came in on, or a loopback name at
// a loopback address, and only without an Origin or with a listed one.
func requestFault(local, host, origin string, check requestCheck) string {
	r := &http.Request{Host: host, Header: http.Header{}}
	at, err := netip.ParseAddrPort(local)
	if err != nil || at.Addr().Zone() != "" {
		return "" // no address of a listener
	}
	r = r.WithContext(context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(net.TCPAddrFromAddrPort(at))))
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	status, text := check(r, fuzzHosts, fuzzOrigins)
	if status != 0 {
		if status != http.StatusForbidden || text != refusedText {
			return fmt.Sprintf("refused with %d %q", status, text)
		}
		return ""
	}
	if origin != "" && !strings.EqualFold(origin, fuzzOrigins[0]) {
		return fmt.Sprintf("the origin %q passes", origin)
	}
	names := []string{"hub.example", at.Addr().Unmap().String()}
	if at.Addr().Unmap().IsLoopback() {
		names = append(names, "localhost", "127.0.0.1", "::1")
	}
	if strings.EqualFold(host, fuzzHosts[1]) || slices.ContainsFunc(names, func(name string) bool { return isName(host, name) }) {
		return ""
	}
	return fmt.Sprintf("the host %q passes at %s", host, local)
}

// isName says that a Host header names exactly this host: alone, in brackets, or with a port.
func isName(host, name string) bool {
	host = strings.ToLower(host)
	before, _, found := cutLastColon(host)
	forms := []string{host}
	if found {
		forms = append(forms, before)
	}
	return slices.ContainsFunc(forms, func(s string) bool {
		s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
		ip, err := netip.ParseAddr(s)
		return s == name || err == nil && ip.Unmap().String() == name
	})
}

func cutLastColon(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func requestSeeds() [][3]string {
	return [][3]string{
		{"127.0.0.1:8876", "localhost:8876", ""},
		{"127.0.0.1:8876", "evil.example:8876", ""},
		{"127.0.0.1:8876", "localhost.evil.example", ""},
		{"127.0.0.1:8876", "[::1]", "https://console.example"},
		{"127.0.0.1:8876", "localhost", "https://evil.example"},
		{"192.168.1.5:8876", "192.168.1.5", "null"},
		{"192.168.1.5:8876", "localhost", ""},
		{"[fd00::2]:1", "[fd00::2]:1", "https://CONSOLE.example"},
		{"[::ffff:10.0.0.1]:1", "10.0.0.1", ""},
		{"192.168.1.5:1", "HUB.example:7", ""},
		{"192.168.1.5:1", "other.example:9001", ""},
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range requestSeeds() {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, local, host, origin string) {
		if fault := requestFault(local, host, origin, CheckRequest); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The body above finds planted bugs among its own seeds, and nothing in what ships.
func TestRequestFuzzBodyFindsPlantedBugs(t *testing.T) {
	over := func(check requestCheck) (faults string) {
		for _, s := range requestSeeds() {
			faults += requestFault(s[0], s[1], s[2], check)
		}
		return faults
	}
	if faults := over(CheckRequest); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, check := range map[string]requestCheck{
		"a loopback name as a prefix": func(r *http.Request, hosts, origins []string) (int, string) {
			if strings.HasPrefix(r.Host, "localhost") {
				r.Host = "localhost"
			}
			return CheckRequest(r, hosts, origins)
		},
		"a loopback name anywhere": func(r *http.Request, hosts, origins []string) (int, string) {
			return CheckRequest(r, append(slices.Clone(hosts), "localhost"), origins)
		},
		"any origin": func(r *http.Request, hosts, _ []string) (int, string) {
			r.Header.Del("Origin")
			return CheckRequest(r, hosts, nil)
		},
	} {
		if over(check) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
