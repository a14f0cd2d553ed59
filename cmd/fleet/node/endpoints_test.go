package node

import (
	"net"
	"slices"
	"strings"
	"testing"
)

func TestAnnounce(t *testing.T) {
	var machine []net.Addr
	for _, text := range []string{"127.0.0.1/8", "fe80::1/64", "10.0.0.5/24", "2001:db8::5/64", "203.0.113.5/24", "fd00::5/64", "::1/128", "224.0.0.1/4"} {
		ip, block, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		machine = append(machine, &net.IPNet{IP: ip, Mask: block.Mask})
	}
	private := machine[2:3]
	for _, c := range []struct {
		name, links string
		configured  []string
		machine     []net.Addr
		want        string
		warning     string
	}{
		{"as configured", ":8877", []string{"relay.example:1"}, machine, "relay.example:1", ""},
		{"a particular address", "198.51.100.1:7", nil, machine, "198.51.100.1:7", ""},
		{"a name", "relay.example:7", nil, machine, "relay.example:7", ""},
		{"loopback", "127.0.0.1:7", nil, machine, "127.0.0.1:7", "of this machine only"},
		{"the machine's", "[::]:7", nil, machine, "203.0.113.5:7 [2001:db8::5]:7 10.0.0.5:7 [fd00::5]:7", ""},
		{"the machine's, no IPv6", "0.0.0.0:7", nil, machine, "203.0.113.5:7 10.0.0.5:7", ""},
		{"private only", ":7", nil, private, "10.0.0.5:7", "private addresses"},
		{"none", ":7", nil, machine[:1], "127.0.0.1:7", "of this machine only"},
		{"too many", ":7", nil, slices.Repeat(private, 9), strings.TrimSpace(strings.Repeat("10.0.0.5:7 ", 8)), "private addresses"},
	} {
		got := announce(c.configured, c.links, c.machine)
		if text := strings.Join(got.Endpoints, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
		if !strings.Contains(got.Warning, c.warning) || (c.warning == "") != (got.Warning == "") {
			t.Errorf("%s: warned %q", c.name, got.Warning)
		}
	}
}
