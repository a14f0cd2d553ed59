package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fleetrelay/hub/client"
)

// TestTLS speaks over wss, both corks being on either side of TLS.
func TestTLS(t *testing.T) {
	h := &testHub{id: "hub-1", names: map[string]*session{}}
	h.srv = &http.Server{Handler: h}
	srv := httptest.NewTLSServer(h)
	defer srv.Close()
	defer h.stop()
	c, err := client.Dial(t.Context(), client.Options{
		URL: strings.Replace(srv.URL, "https", "wss", 1), Name: "a",
		TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		if _, err := c.SendAccepted(t.Context(), client.Message{Text: strings.Repeat("x", 200_000)}); err != nil {
			t.Fatal(err)
		}
	}
}
