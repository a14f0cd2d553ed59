package client_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/hub/client"
	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// pipes is a listener and dialer in memory. A frozen connection stays open and passes nothing, as behind a proxy whose
// backend died.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once

	mu    sync.Mutex
	all   []*freezable
	dials []time.Time
	down  bool
}

type freezable struct {
	net.Conn
	frozen chan struct{} // closed when frozen
	ended  chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn, 1), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials = append(p.dials, time.Now())
	if p.down {
		return nil, net.ErrClosed
	}
	a, b := net.Pipe()
	f := &freezable{Conn: a, frozen: make(chan struct{}), ended: make(chan struct{})}
	p.all = append(p.all, f)
	p.conns <- b
	return f, nil
}

func (f *freezable) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	select {
	case <-f.frozen:
		<-f.ended
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (f *freezable) Close() error {
	f.once.Do(func() { close(f.ended) })
	return f.Conn.Close()
}

func (p *pipes) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.all {
		close(f.frozen)
	}
	p.all = nil
}

// virtualHub serves h over pipes inside a synctest bubble.
func virtualHub(t *testing.T, h *testHub) *pipes {
	t.Helper()
	h.id, h.names = "hub-1", map[string]*session{}
	p := newPipes()
	h.serve(p)
	t.Cleanup(h.stop)
	return p
}

func virtualDial(t *testing.T, p *pipes, o client.Options) (*client.Client, *log) {
	t.Helper()
	l := newLog()
	o.URL, o.Recorder, o.DialContext = "ws://hub/", l, p.dial
	c, err := client.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, l
}

// TestDeadHub: a connection that stays open and passes nothing is given up within Heartbeat + PongWait without any traffic
// of the application, and the name comes back.
func TestDeadHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &testHub{opts: socket.Options{PingEvery: time.Hour}} // it does not notice by itself
		p := virtualHub(t, h)
		_, alog := virtualDial(t, p, client.Options{Name: "a", Takeover: true})
		time.Sleep(10 * time.Minute) // alive for long
		if n := len(of[client.Closed](alog.all())); n != 0 {
			t.Fatal("closed while alive")
		}
		start := time.Now()
		p.freeze()
		time.Sleep(41 * time.Second)
		got := of[client.Closed](alog.all())
		if len(got) != 1 || got[0].Reason != wire.ReasonPingTimeout {
			t.Fatalf("after %v: %+v", time.Since(start), got)
		}
		time.Sleep(time.Second)
		if n := len(of[client.Welcome](alog.all())); n != 2 {
			t.Fatalf("%d connections", n)
		}
	})
}

// TestHeartbeats: a keepalive every 20 s.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &testHub{}
		p := virtualHub(t, h)
		virtualDial(t, p, client.Options{Name: "a"})
		time.Sleep(201 * time.Second)
		synctest.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		if n := len(h.heard); n != 11 { // the registration and ten keepalives
			t.Fatal(n)
		}
	})
}

// TestBackoff: while the hub is away the pauses grow to five seconds, and a client that gets through begins anew.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &testHub{}
		p := virtualHub(t, h)
		a, _ := virtualDial(t, p, client.Options{Name: "a"})
		time.Sleep(time.Minute)
		p.mu.Lock()
		p.down, p.dials = true, nil
		p.mu.Unlock()
		h.drop(wire.ReasonHubShutdown)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		p.mu.Lock()
		n, first := len(p.dials), p.dials[0]
		last := p.dials[n-1].Sub(p.dials[n-2])
		p.down = false
		p.mu.Unlock()
		if pause := 10*time.Minute - time.Since(first); pause > 150*time.Millisecond {
			t.Fatalf("the first pause was %v", pause)
		}
		if n < 80 || n > 250 || last < 2*time.Second || last > 8*time.Second {
			t.Fatalf("%d attempts in ten minutes, the last pause %v", n, last)
		}
		if _, err := a.SendAccepted(t.Context(), client.Message{Text: "back"}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSendWhileAway: a message queued while no connection is up leaves on the next one, or is taken back when its
// context ends.
func TestSendWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &testHub{}
		p := virtualHub(t, h)
		a, _ := virtualDial(t, p, client.Options{Name: "a"})
		p.mu.Lock()
		p.down = true
		p.mu.Unlock()
		h.drop(wire.ReasonHubShutdown)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Send(ctx, client.Message{Text: "taken back"}); err == nil {
			t.Fatal("sent")
		}
		sent := make(chan error, 1)
		go func() {
			_, err := a.Send(t.Context(), client.Message{Text: "kept"})
			sent <- err
		}()
		time.Sleep(time.Minute)
		p.mu.Lock()
		p.down = false
		p.mu.Unlock()
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		if err := a.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.texts(); len(got) != 1 || got[0] != "kept" {
			t.Fatal(got)
		}
	})
}
