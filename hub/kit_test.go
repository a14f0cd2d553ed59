package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/coder/websocket"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// rig is one hub on a store, behind a real listener on loopback.
type rig struct {
	t      *testing.T
	hub    *Hub
	store  *journal.Store
	http   *httptest.Server
	client *http.Client // nil for the default one
	fatal  chan error
	agents []*agent
	broken bool // the journal was made to fail
}

// startRig opens the store on fs and starts a hub; options may be adjusted.
func startRig(t *testing.T, fs vfs.FS, adjust ...func(*Options)) *rig {
	t.Helper()
	r, err := openRig(t, fs, adjust...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func openRig(t *testing.T, fs vfs.FS, adjust ...func(*Options)) (*rig, error) {
	t.Helper()
	r, err := buildRig(t, fs, adjust...)
	if err != nil {
		return nil, err
	}
	r.http = httptest.NewServer(r.hub)
	t.Cleanup(r.stop)
	return r, nil
}

// buildRig starts a hub that nobody can connect to yet.
func buildRig(t *testing.T, fs vfs.FS, adjust ...func(*Options)) (*rig, error) {
	t.Helper()
	o := Options{
		HubID: "hub-1", Now: time.Now, Rand: rand.Reader, Version: "test", RegistrationTimeout: time.Minute,
	}
	r := &rig{t: t, fatal: make(chan error, 1)}
	o.OnFatal = func(err error) { r.fatal <- err }
	for _, a := range adjust {
		a(&o)
	}
	store, err := journal.Open("journal", journal.Options{FS: fs, HubID: string(o.HubID)})
	if err != nil {
		return nil, err
	}
	o.Store, r.store = store, store
	if r.hub, err = New(o); err != nil {
		_ = store.Close()
		return nil, err
	}
	return r, nil
}

// stop closes hub, listener and store; it may be called twice.
func (r *rig) stop() {
	if r.http == nil {
		return
	}
	for _, a := range r.agents { // a peer that answers no close frame would be waited for
		_ = a.ws.CloseNow()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.hub.Close(ctx); err != nil {
		r.t.Errorf("close hub: %v", err)
	}
	r.http.Close()
	if err := r.store.Close(); err != nil && !r.broken {
		r.t.Errorf("close store: %v", err)
	}
	r.http = nil
}

// agent is a raw WebSocket client.
type agent struct {
	t    *testing.T
	name string
	ws   *websocket.Conn
}

// got is one received frame, decoded.
type got map[string]any

func (g got) str(name string) string { s, _ := g[name].(string); return s }
func (g got) num(name string) uint64 { f, _ := g[name].(float64); return uint64(f) }

// dial connects without registering.
func (r *rig) dial(name string) *agent {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	url := "ws" + strings.TrimPrefix(r.http.URL, "http")
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: r.client})
	if err != nil {
		r.t.Fatal(err)
	}
	ws.SetReadLimit(2 << 20)
	a := &agent{t: r.t, name: name, ws: ws}
	r.agents = append(r.agents, a)
	return a
}

// join connects and registers, and waits for the own presence frame.
func (r *rig) join(name string, extra ...string) *agent {
	r.t.Helper()
	a := r.dial(name)
	a.send(fmt.Sprintf(`{"sender":%q,"type":"heartbeat","payload":"online"%s}`, name, strings.Join(extra, "")))
	a.until(func(g got) bool { return g.str("type") == "presence_update" && g.str("agent") == name })
	return a
}

func (a *agent) send(text string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := a.ws.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		a.t.Fatalf("%s: write: %v", a.name, err)
	}
}

// chat sends a chat and returns the sender's own copy.
func (a *agent) chat(to, text string, extra ...string) got {
	a.t.Helper()
	a.send(fmt.Sprintf(`{"sender":%q,"type":"chat","target":%q,"payload":%q%s}`, a.name, to, text, strings.Join(extra, "")))
	return a.until(func(g got) bool {
		return g.str("type") == "chat" && g.str("sender") == a.name && g["payload"] == text
	})
}

func (a *agent) read() (got, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, b, err := a.ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	var g got
	return g, wire.UnmarshalLax(b, &g)
}

// readAny waits for the next frame however long it takes.
func (a *agent) readAny() (got, error) {
	_, b, err := a.ws.Read(context.Background())
	if err != nil {
		return nil, err
	}
	var g got
	return g, wire.UnmarshalLax(b, &g)
}

// closeText is code and reason of a close frame, "" without an error.
func closeText(err error) string {
	var ce websocket.CloseError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ce):
		return fmt.Sprintf("%d %s", ce.Code, ce.Reason)
	}
	return err.Error()
}

// until reads until a frame satisfies want.
func (a *agent) until(want func(got) bool) got {
	a.t.Helper()
	for {
		g, err := a.read()
		if err != nil {
			a.t.Fatalf("%s: %v", a.name, err)
		}
		if want(g) {
			return g
		}
	}
}

// typed reads until a frame of one type arrives.
func (a *agent) typed(frameType string) got {
	a.t.Helper()
	return a.until(func(g got) bool { return g.str("type") == frameType })
}

// closed reads until the socket ends and returns the close.
func (a *agent) closed() (code int, reason string, frames []got) {
	a.t.Helper()
	for {
		g, err := a.read()
		if err != nil {
			var ce websocket.CloseError
			if !errors.As(err, &ce) {
				a.t.Fatalf("%s: ended without a close frame: %v", a.name, err)
			}
			return int(ce.Code), ce.Reason, frames
		}
		frames = append(frames, g)
	}
}
