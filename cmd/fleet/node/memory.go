package node

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// memoryListener connects a client and a server in one process, so that a stopped node answers the same requests
// through the same handlers as a serving one.
type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// memoryConn marks the server's end.
type memoryConn struct{ net.Conn }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return memoryConn{c}, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

func (l *memoryListener) dial(ctx context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// offline serves the admin operations of a node that nobody else can reach; closing the client closes the node.
func (n *Node) offline() *Client {
	l := newMemoryListener()
	srv := &http.Server{Handler: n.adminHandler(), ConnContext: withUser, ReadHeaderTimeout: readHeader}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }}
	return newClient(false, transport, func() error {
		err := srv.Close()
		<-ended
		return joinClose(err, n.Close())
	})
}
