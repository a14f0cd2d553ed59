package socket

import (
	"context"
	"net"
	"net/http"
	"testing"
)

func TestCheckRequest(t *testing.T) {
	loop := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8876}
	loop6 := &net.TCPAddr{IP: net.IPv6loopback, Port: 8876}
	lan := &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 8876}
	hosts := []string{"hub.example", "other.example:9000"}
	origins := []string{"https://console.example"}
	for _, tc := range []struct {
		name    string
		local   net.Addr
		host    string
		origins []string
		ok      bool
	}{
		{"loopback name", loop, "localhost:8876", nil, true},
		{"loopback name without port", loop, "LOCALHOST", nil, true},
		{"loopback address", loop, "127.0.0.1:8876", nil, true},
		{"IPv6 loopback", loop6, "[::1]:8876", nil, true},
		{"IPv6 loopback without port", loop6, "[::1]", nil, true},
		{"rebound name", loop, "evil.example:8876", nil, false},
		{"loopback name from outside", lan, "localhost:8876", nil, false},
		{"own address", lan, "192.168.1.5:8876", nil, true},
		{"another address", lan, "192.168.1.6:8876", nil, false},
		{"allowed name, any port", lan, "Hub.example:1", nil, true},
		{"allowed name and port", lan, "other.example:9000", nil, true},
		{"allowed name, other port", lan, "other.example:9001", nil, false},
		{"no host", loop, "", nil, false},
		{"no local address", nil, "localhost", nil, false},
		{"allowed origin", loop, "localhost", []string{"https://CONSOLE.example"}, true},
		{"other origin", loop, "localhost", []string{"https://evil.example"}, false},
		{"origin without its scheme", loop, "localhost", []string{"console.example"}, false},
		{"origin of the host itself", loop, "localhost", []string{"http://localhost"}, false},
		{"null origin", loop, "localhost", []string{"null"}, false},
		{"empty origin", loop, "localhost", []string{""}, false},
		{"two origins", loop, "localhost", []string{"https://console.example", "https://console.example"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := (&http.Request{Host: tc.host, Header: http.Header{}}).WithContext(context.Background())
			if tc.local != nil {
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, tc.local))
			}
			for _, o := range tc.origins {
				r.Header.Add("Origin", o)
			}
			status, text := CheckRequest(r, hosts, origins)
			if (status == 0) != tc.ok || (status != 0 && (status != 403 || text != "origin/host not allowed")) {
				t.Fatalf("got %d %q, want ok %v", status, text, tc.ok)
			}
		})
	}
	r := &http.Request{Host: "localhost", Header: http.Header{"Origin": {"null"}}}
	r = r.WithContext(context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(loop)))
	if status, _ := CheckRequest(r, nil, []string{"null"}); status == 0 {
		t.Fatal("a null origin passed because it was listed")
	}
}
