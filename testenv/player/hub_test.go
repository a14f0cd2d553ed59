package player

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fleetrelay/hub"
	"fleetrelay/hub/journal"
)

// startHub starts the product's hub behind a real listener, with the real journal in a folder of its own.
func startHub(t *testing.T, secure bool) (func(context.Context, Hub) (*Running, error), *http.Client) {
	client := &http.Client{Transport: &http.Transport{}}
	start := func(ctx context.Context, want Hub) (*Running, error) {
		store, err := journal.Open(t.TempDir(), journal.Options{HubID: "hub-1"})
		if err != nil {
			return nil, err
		}
		h, err := hub.New(hub.Options{
			Store: store, HubID: "hub-1", Now: time.Now, Rand: rand.Reader, RegistrationTimeout: want.RegistrationTimeout,
			Version: "test", ConfigEpoch: "0123456789abcdef",
			Limits:  hub.Limits{Sockets: want.MaxSockets, PerHost: want.PerHost, Unauthenticated: want.Unauthenticated},
			OnFatal: func(err error) { t.Errorf("the journal failed: %v", err) },
		})
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		run := &Running{Terminate: func(context.Context) error {
			go h.Close(context.Background()) // Stop waits for it
			return nil
		}}
		if want.TokenFor != "" {
			if _, run.Token, err = h.CreateToken(ctx, want.TokenFor, "test"); err != nil {
				return nil, errors.Join(err, h.Close(ctx), store.Close())
			}
		}
		server := httptest.NewUnstartedServer(from(h, want.PerHost > 0))
		if secure {
			server.StartTLS()
			client.Transport = server.Client().Transport
		} else {
			server.Start()
		}
		run.URL = "ws" + strings.TrimPrefix(server.URL, "http")
		run.Sockets = func() int {
			s, err := h.Status(context.Background())
			if err != nil {
				return 0
			}
			return s.Sockets
		}
		run.Stop = func() error {
			err := errors.Join(h.Close(context.Background()), store.Close())
			server.Close()
			client.CloseIdleConnections()
			return err
		}
		return run, nil
	}
	return start, client
}

// from has the hub see a remote host where that counts: loopback is exempt from the bound per host.
func from(h http.Handler, remote bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if remote {
			r.RemoteAddr = "192.0.2.7:4711"
		}
		h.ServeHTTP(w, r)
	})
}

// TestProductPlaysTheCaptures is the product against every captured scenario, plain and over TLS.
func TestProductPlaysTheCaptures(t *testing.T) {
	for _, carrier := range []string{"plain", "TLS"} {
		for _, s := range scenarios(t) {
			t.Run(carrier+"/"+s.Name, func(t *testing.T) {
				t.Parallel() // some files wait for a timeout
				start, client := startHub(t, carrier == "TLS")
				if err := Play(t.Context(), &s, Options{Start: start, HTTP: client, Patience: 10 * time.Second}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
