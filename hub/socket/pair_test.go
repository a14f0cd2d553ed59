package socket

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"fleetrelay/hub/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oneListener hands out one connection, then blocks until it is closed.
type oneListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *oneListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// meter counts the writes on the connection under a socket.
type meter struct {
	net.Conn
	writes atomic.Int64
}

func (m *meter) Write(p []byte) (int, error) {
	m.writes.Add(1)
	return m.Conn.Write(p)
}

// pair is a socket under test and the client at its other end.
type pair struct {
	socket *Socket
	client *websocket.Conn
	raw    net.Conn // the client's connection
	meter  *meter   // the socket's connection
	ended  chan wire.Reason
	cancel context.CancelFunc
}

// newPair joins a socket and a client over the two connections and runs the socket with onMessage.
func newPair(t testing.TB, server, client net.Conn, o Options, onMessage func(*Socket, []byte) error) *pair {
	t.Helper()
	p := &pair{raw: client, meter: &meter{Conn: server}, ended: make(chan wire.Reason, 1)}
	up := make(chan *Socket, 1)
	ctx, cancel := context.WithCancel(context.Background())
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := Upgrade(w, r, o)
		if err != nil {
			t.Error(err)
			return
		}
		up <- s
		p.ended <- s.Run(ctx, func(b []byte) error { return onMessage(s, b) })
	})}
	l := &oneListener{conns: make(chan net.Conn, 1), done: make(chan struct{})}
	l.conns <- p.meter
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(l) }()
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil }}
	ws, _, err := websocket.Dial(context.Background(), "ws://hub/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: tr}})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	p.client, p.socket = ws, <-up
	p.cancel = cancel
	p.meter.writes.Store(0)
	t.Cleanup(func() {
		cancel()
		_ = client.Close()
		_ = ws.CloseNow()
		_ = srv.Close()
		<-served
		tr.CloseIdleConnections()
	})
	return p
}

func ignore(*Socket, []byte) error { return nil }

// pipePair joins them over a synchronous in-memory pipe: the client takes what it reads and nothing else.
func pipePair(t testing.TB, o Options, onMessage func(*Socket, []byte) error) *pair {
	a, b := net.Pipe()
	return newPair(t, a, b, o, onMessage)
}

// loopPair joins them over a real loopback connection.
func loopPair(t testing.TB, o Options, onMessage func(*Socket, []byte) error) *pair {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return newPair(t, server, client, o, onMessage)
}

// text is an item of some frames that counts what it was told.
type text struct {
	frames [][]byte
	yes    atomic.Int64
	no     atomic.Int64
	told   func(ok bool)
}

func item(frames ...string) *text {
	it := &text{}
	for _, f := range frames {
		it.frames = append(it.frames, []byte(f))
	}
	return it
}

func (it *text) Frames(yield func([]byte) bool) {
	for _, f := range it.frames {
		if !yield(f) {
			return
		}
	}
}

func (it *text) Size() (n int) {
	for _, f := range it.frames {
		n += len(f)
	}
	return n
}

func (it *text) Written(ok bool) {
	if ok {
		it.yes.Add(1)
	} else {
		it.no.Add(1)
	}
	if it.told != nil {
		it.told(ok)
	}
}

func read(t testing.TB, c *websocket.Conn) string {
	t.Helper()
	_, b, err := c.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// closeOf reads on to the close frame and returns it with the number of messages before it.
func closeOf(t testing.TB, c *websocket.Conn) (code int, text string, messages int) {
	t.Helper()
	for {
		_, _, err := c.Read(context.Background())
		if err == nil {
			messages++
			continue
		}
		return closeErr(t, err, messages)
	}
}
