package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs/certstest"
)

// Outcome is how one call ended.
type Outcome struct {
	// Refused: the other side ended the connection in the handshake, with a TLS alert or before it looked at anything.
	Refused bool
	// Alert is the TLS alert of a refusal, 0 for none.
	Alert uint8
	// Answered is how many application bytes came back.
	Answered int
	// Err is how the connection ended.
	Err error
}

const (
	// firstCrypto is the QUIC error code of TLS alert 0 (RFC 9001, section 4.8); the alert is the last byte.
	firstCrypto = quic.TransportErrorCode(0x100)
	// speaking bounds one call.
	speaking = 5 * time.Second
)

// quicConfig leaves everything to the other side.
func quicConfig() *quic.Config {
	return &quic.Config{HandshakeIdleTimeout: speaking, MaxIdleTimeout: speaking}
}

// Caller dials over one socket. Its methods are safe for concurrent use.
type Caller struct {
	socket *net.UDPConn
	tr     *quic.Transport
}

// NewCaller opens a socket at a loopback address, "" for the usual one.
func NewCaller(ip string) (*Caller, error) {
	if ip == "" {
		ip = "127.0.0.1"
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(ip)})
	if err != nil {
		return nil, fmt.Errorf("hostile: %w", err)
	}
	return &Caller{socket: socket, tr: &quic.Transport{Conn: socket}}, nil
}

// Close ends every call.
func (c *Caller) Close() error { return errors.Join(c.tr.Close(), c.socket.Close()) }

// Call dials a link's address with a certificate, nil for none, says words on a stream, and waits until the other side has
// answered or ended it. Who dials finishes its handshake before it is judged, so the words are on their way when the
// verdict falls. An error means that the call could not be made.
func (c *Caller) Call(ctx context.Context, addr string, cert *tls.Certificate, words []byte) (Outcome, error) {
	to, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return Outcome{}, fmt.Errorf("hostile: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, speaking)
	defer cancel()
	conn, err := c.tr.Dial(ctx, to, certstest.Hostile(cert), quicConfig())
	if err != nil {
		return outcomeOf(0, err), nil
	}
	defer func() { _ = conn.CloseWithError(0, "") }()
	stream, err := conn.OpenStreamSync(ctx)
	if err == nil {
		_, err = stream.Write(words)
	}
	if err != nil {
		return outcomeOf(0, err), nil
	}
	stop := context.AfterFunc(ctx, func() { stream.CancelRead(0) })
	defer stop()
	n, err := stream.Read(make([]byte, 1024))
	return outcomeOf(n, err), nil
}

func outcomeOf(answered int, err error) Outcome {
	o := Outcome{Answered: answered, Err: err}
	t, ok := errors.AsType[*quic.TransportError](err)
	switch {
	case !ok || !t.Remote:
	case t.ErrorCode.IsCryptoError():
		o.Refused, o.Alert = true, uint8(t.ErrorCode-firstCrypto)
	case t.ErrorCode == quic.ConnectionRefused:
		o.Refused = true
	}
	return o
}
