package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetrelay/hub/wire"
)

// TestNotAnswering: a node that takes connections and says nothing, as one that a signal stopped, is told from one that
// does not run, and names its process.
func TestNotAnswering(t *testing.T) {
	c := asking(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	requests := map[string]func() error{
		"status": func() error { _, err := c.Status(t.Context()); return err },
		"send":   func() error { _, err := c.Send(t.Context(), SendRequest{As: "a", To: "b", Text: "c"}); return err },
		"watch":  func() error { return c.Watch(t.Context(), "a/one", func([]byte) error { return nil }) },
		"export": func() error { return c.Export(t.Context(), 1, 0, false, func([]byte) error { return nil }) },
	}
	for name, request := range requests {
		err := request()
		if ReasonOf(err) != wire.ReasonNotAnswering || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
			t.Errorf("%s: %v", name, err)
		}
		if next := Explain(err).Next.String(); next == "" {
			t.Errorf("%s: no next step", name)
		}
	}
}

// TestNotAnsweringWhole: the bound is on the whole of an answer that is no stream.
func TestNotAnsweringWhole(t *testing.T) {
	for name, status := range map[string]int{"answer": http.StatusOK, "refusal": http.StatusUnprocessableEntity} {
		c := asking(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		if _, err := c.Status(t.Context()); ReasonOf(err) != wire.ReasonNotAnswering {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStreamsMayBeSilent: a stream that has begun is not bounded, and ends with the caller's own context.
func TestStreamsMayBeSilent(t *testing.T) {
	goOn := make(chan struct{})
	c := asking(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := startLines(w, true)
		<-goOn
		if err := l.put(Empty{}); err == nil {
			l.end()
		}
	}))
	time.AfterFunc(4*c.wait, func() { close(goOn) }) // beyond the bound: shows that it does not hold any more
	lines := 0
	if err := c.Watch(t.Context(), "a/one", func([]byte) error { lines++; return nil }); err != nil || lines != 1 {
		t.Errorf("%d lines, %v", lines, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Status(ctx); ReasonOf(err) == wire.ReasonNotAnswering {
		t.Error("a caller that gave up is told that the node does not answer")
	}
}

// asking is a client of a node that answers by h, which is as impatient as a test.
func asking(t *testing.T, h http.Handler) *Client {
	t.Helper()
	dir := t.TempDir()
	l, err := listenAdmin(dir)
	if err != nil {
		t.Fatal(err)
	}
	var handlers sync.WaitGroup
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		_, _ = io.Copy(io.Discard, r.Body) // only then is a caller that goes away noticed
		h.ServeHTTP(w, r)
	})}
	ended := make(chan error, 1)
	go func(l net.Listener) { ended <- srv.Serve(l) }(l)
	c, err := Running(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	c.wait = 50 * time.Millisecond
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-ended
		handlers.Wait()
	})
	return c
}
