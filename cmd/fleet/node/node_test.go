package node

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetrelay/hub/client"
	"fleetrelay/hub/wire"
	"fleetrelay/testenv/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// made is a new node on free loopback ports.
func made(t *testing.T, dir string) Made {
	t.Helper()
	m, err := Init(InitOptions{Dir: dir, Hub: "hub.example", Addresses: Addresses{Agents: "127.0.0.1:0", Links: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// serve runs a node until the test ends and returns its status.
func serve(t *testing.T, o Options) Status {
	t.Helper()
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan Status, 1), make(chan error, 1)
	go func() { ended <- n.Serve(ctx, func(s Status) { ready <- s }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	select {
	case s := <-ready:
		return s
	case err := <-ended:
		t.Fatal(err)
		return Status{}
	}
}

// TestServeAndStop starts and stops a node twice in one process: nothing stays behind, and what was done is there.
func TestServeAndStop(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	for round := range 2 {
		n, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		err = n.Serve(ctx, func(s Status) {
			defer stop()
			c, err := Running(ctx, dir)
			if err != nil {
				t.Error(err)
				return
			}
			sent, err := c.Send(ctx, SendRequest{As: "a/one", To: "a/two", Text: "hello"})
			if err = errors.Join(err, c.Close()); err != nil || sent.MsgID != uint64(round+1) {
				t.Errorf("round %d: %+v, %v", round, sent, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, AdminSocket)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the admin socket is still there: %v", err)
		}
	}
}

func TestAdminSocketIsPrivate(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	serve(t, Options{Dir: dir})
	info, err := os.Stat(filepath.Join(dir, AdminSocket))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	c, err := Running(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tok, err := c.CreateToken(t.Context(), "a/one")
	if err != nil {
		t.Fatal(err)
	}
	if tok.By != ProcessUser() {
		t.Errorf("made by %q and not by the user at the other end, %q", tok.By, ProcessUser())
	}
}

// TestDeepFolder serves a folder whose socket path is longer than an address can hold.
func TestDeepFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	made(t, dir)
	serve(t, Options{Dir: dir})
	c, err := Running(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Status(t.Context())
	if err = errors.Join(err, c.Close()); err != nil || !s.Running {
		t.Fatalf("%+v, %v", s, err)
	}
}

// TestDeadSocket: what a killed node left behind is replaced.
func TestDeadSocket(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, AdminSocket), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Running(t.Context(), dir); ReasonOf(err) != wire.ReasonNotRunning {
		t.Errorf("got %v", err)
	}
	serve(t, Options{Dir: dir})
}

// TestAgentsTLS connects an agent over wss.
func TestAgentsTLS(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	pool := selfSigned(t, dir)
	s := serve(t, Options{Dir: dir, Overrides: map[string]any{"agents_tls.cert": "agents.crt", "agents_tls.key": "agents.key"}})
	if !s.AgentsTLS {
		t.Error("status says no TLS")
	}
	conf := &tls.Config{RootCAs: pool}
	c, err := client.Dial(t.Context(), client.Options{URL: "wss://" + s.Agents, Name: "a/one", TLS: conf, OnEvent: func(client.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SendAccepted(t.Context(), client.Message{To: "a/two", Text: "hello"}); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestBadAgentsTLS(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	n, err := Open(Options{Dir: dir, Overrides: map[string]any{"agents_tls.cert": "no.crt", "agents_tls.key": "no.key"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Serve(t.Context(), nil); ReasonOf(err) != wire.ReasonInvalidConfig {
		t.Errorf("got %v", err)
	}
}

// TestLastTokenStays: a hub that a network reaches is not opened by revoking its last token.
func TestLastTokenStays(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	c, err := Connect(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := c.CreateToken(t.Context(), "a/one")
	if err = errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	serve(t, Options{Dir: dir, Overrides: map[string]any{"agents": "0.0.0.0:0"}})
	if c, err = Running(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.RevokeToken(t.Context(), tok.ID); ReasonOf(err) != wire.ReasonOpenHubNotLoopback {
		t.Errorf("got %v", err)
	}
	second, err := c.CreateToken(t.Context(), "a/two")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.RevokeToken(t.Context(), tok.ID); err != nil {
		t.Errorf("with a second token %s: %v", second.ID, err)
	}
}

// TestJournalFailureEndsServe: nothing is told after a sync failed, and the reason is the word for it.
func TestJournalFailureEndsServe(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	var broken atomic.Bool
	hook := func(point string) error {
		if broken.Load() && point == "journal.sync.before" {
			return errors.New("the disk is gone")
		}
		return nil
	}
	n, err := Open(Options{Dir: dir, Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	err = n.Serve(t.Context(), func(Status) {
		broken.Store(true)
		go func() { told <- sendOne(t.Context(), dir) }()
	})
	if err := <-told; err == nil {
		t.Error("told accepted")
	}
	if ReasonOf(err) != wire.ReasonJournalFailed {
		t.Fatalf("got %v", err)
	}
	// The next start is consistent: the message that nobody was told of may or may not be there.
	c, err := Connect(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Status(t.Context()); errors.Join(err, c.Close()) != nil {
		t.Error(err)
	}
}

// sendOne sends one message to the running node.
func sendOne(ctx context.Context, dir string) error {
	c, err := Running(ctx, dir)
	if err != nil {
		return err
	}
	_, err = c.Send(ctx, SendRequest{As: "a/one", To: "a/two", Text: "hello"})
	return errors.Join(err, c.Close())
}

// TestWatchEndsWithTheNode: a watcher does not keep a node from stopping and is told that the end came.
func TestWatchEndsWithTheNode(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	n, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	begun := time.Now()
	err = n.Serve(ctx, func(Status) {
		c, err := Running(t.Context(), dir)
		if err != nil {
			t.Error(err)
			stop()
			return
		}
		go func() {
			watched <- errors.Join(c.Watch(t.Context(), "a/two", func([]byte) error { stop(); return nil }), c.Close())
		}()
		go func() {
			err := process.Poll(ctx, func() error {
				if n.watchers.Load() == 0 {
					return errors.New("nobody watches yet")
				}
				return nil
			})
			if err = errors.Join(err, sendOne(ctx, dir)); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}()
	})
	if err != nil || time.Since(begun) > closing {
		t.Errorf("serve ended after %v with %v", time.Since(begun), err)
	}
	stop()
	if err := <-watched; err != nil {
		t.Errorf("watch ended with %v", err)
	}
}

// TestDiskBytesCountTheLog: what was just written is in the log alone, and counts.
func TestDiskBytesCountTheLog(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	before := serve(t, Options{Dir: dir}).Journal.DiskBytes
	c, err := Running(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	const size = 256 << 10
	noise := make([]byte, size/2)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	_, err = c.Send(t.Context(), SendRequest{As: "a/one", To: "a/two", Text: hex.EncodeToString(noise)})
	after, serr := c.Status(t.Context())
	if err := errors.Join(err, serr, c.Close()); err != nil {
		t.Fatal(err)
	}
	// Files that the start made obsolete go meanwhile.
	if after.Journal.DiskBytes < before+size*3/4 {
		t.Errorf("a message of %d bytes takes the journal from %d to %d bytes", size, before, after.Journal.DiskBytes)
	}
}
