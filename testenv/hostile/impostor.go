package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs/certstest"
)

// Impostor listens where a node expects a peer.
type Impostor struct {
	Addr string

	socket   *net.UDPConn
	tr       *quic.Transport
	listener *quic.Listener
	running  sync.WaitGroup
	calls    atomic.Int64 // handshakes begun
	admitted atomic.Int64 // handshakes that the caller finished
	read     atomic.Int64 // application bytes
}

// Listen makes an impostor with a certificate, nil for none.
func Listen(cert *tls.Certificate) (*Impostor, error) {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("hostile: %w", err)
	}
	im := &Impostor{Addr: socket.LocalAddr().String(), socket: socket}
	im.tr = &quic.Transport{Conn: socket, ConnContext: func(ctx context.Context, _ *quic.ClientInfo) (context.Context, error) {
		im.calls.Add(1)
		return ctx, nil
	}}
	if im.listener, err = im.tr.Listen(certstest.Hostile(cert), quicConfig()); err != nil {
		return nil, errors.Join(fmt.Errorf("hostile: %w", err), im.tr.Close(), socket.Close())
	}
	im.running.Go(im.accept)
	return im, nil
}

// Calls is how many connections were begun.
func (im *Impostor) Calls() int64 { return im.calls.Load() }

// Admitted is how many of them the caller took for its peer: its handshake was finished.
func (im *Impostor) Admitted() int64 { return im.admitted.Load() }

// Read is how many application bytes callers sent.
func (im *Impostor) Read() int64 { return im.read.Load() }

func (im *Impostor) accept() {
	for {
		conn, err := im.listener.Accept(context.Background())
		if err != nil {
			return // closed
		}
		im.admitted.Add(1)
		im.running.Go(func() { im.hear(conn) })
	}
}

// hear counts what one caller says until it is gone.
func (im *Impostor) hear(conn *quic.Conn) {
	stream, err := conn.AcceptStream(context.Background())
	for buf := make([]byte, 4096); err == nil; {
		var n int
		n, err = stream.Read(buf)
		im.read.Add(int64(n))
	}
}

// Close ends every conversation and returns when nothing of the impostor runs any more.
func (im *Impostor) Close() error {
	err := errors.Join(im.listener.Close(), im.tr.Close(), im.socket.Close())
	im.running.Wait()
	return err
}
