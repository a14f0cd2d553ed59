package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// Timing of a connection. Any packet is life: a silent peer is asked after
// keepAlive and given up idleTimeout after that was not answered, so at most
// 2.9 s after the silence began.
const (
	keepAlive        = 400 * time.Millisecond
	idleTimeout      = 2500 * time.Millisecond
	handshakeTimeout = 2500 * time.Millisecond
)

const (
	// firstPacket is the smallest size QUIC allows, so that a path with a small
	// MTU cannot swallow every handshake; discovery raises it afterwards.
	firstPacket = 1200
	// connectionIDLength in bytes; long enough that the packets of a previous
	// life are not taken for those of a new connection.
	connectionIDLength = 8
	// Flow-control windows in bytes bound what a peer can make this node hold.
	streamWindow     = 512 << 10
	maxStreamWindow  = 6 << 20
	maxSessionWindow = 8 << 20
)

// Options of a [QUIC] transport.
type Options struct {
	// Identity is who this node is. Required.
	Identity *certs.Identity
	// Trust returns the current snapshot; read at every handshake. Required.
	Trust func() certs.Trust
	// Socket is the one UDP socket for dialing and accepting. The transport
	// owns reading and writing it; the caller closes it after Close. Required.
	Socket net.PacketConn
	// Now is the clock that certificates are judged by; nil means time.Now.
	Now func() time.Time
	// Log gets refused callers; nil discards them.
	Log *slog.Logger
	// Handshakes bounds the callers that are not yet accepted, at least 4;
	// 0 means 32.
	Handshakes int
	// Knocked is told of callers that are refused with unknown_peer and whose
	// certificate is signed by its own key: at most 8 at once from one host and
	// one every 10 s, fewer while very many hosts call. It is called inside the
	// handshake and must not block; nil tells nobody.
	Knocked func(federation.Knock)
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Handshakes == 0 {
		o.Handshakes = 32
	}
	o.Handshakes = max(o.Handshakes, 4)
	return o
}

// QUIC dials and accepts links over one UDP socket.
type QUIC struct {
	opt      Options
	tr       *quic.Transport
	listener *quic.Listener
	gate     *gate
	refusals *refusals
	knocks   *knocks

	mu     sync.Mutex
	live   map[*quic.Conn]struct{}
	closed bool
}

// NewQUIC starts listening on the socket.
func NewQUIC(o Options) (*QUIC, error) {
	o = o.withDefaults()
	// The same key at every start: packets for connections of a previous life
	// are answered with a reset that the peer believes, so it notices a restart
	// with its next packet instead of after the idle timeout.
	reset, err := o.Identity.Derive("quic-stateless-reset")
	if err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	q := &QUIC{opt: o, gate: newGate(o.Handshakes), refusals: newRefusals(o.Log), knocks: newKnocks(o.Knocked), live: map[*quic.Conn]struct{}{}}
	key := quic.StatelessResetKey(reset)
	q.tr = &quic.Transport{
		Conn:                o.Socket,
		ConnectionIDLength:  connectionIDLength,
		StatelessResetKey:   &key,
		VerifySourceAddress: q.gate.mustProve,
		ConnContext:         q.enter,
	}
	q.listener, err = q.tr.Listen(q.serverTLS(), quicConfig(1))
	if err != nil {
		_ = q.tr.Close()
		return nil, fmt.Errorf("transport: listen: %w", err)
	}
	return q, nil
}

func (q *QUIC) serverTLS() *tls.Config {
	return certs.LinkServer(q.opt.Identity, q.opt.Trust, q.opt.Now, func(ctx context.Context, e *certs.Error) {
		host, now := attemptOf(ctx).host.String(), q.opt.Now()
		q.refusals.note(refusalOf(e, host), now)
		q.knocks.hear(e, host, now)
	})
}

// enter lets a caller in or notes why not.
func (q *QUIC) enter(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	ctx, err := q.gate.enter(ctx, info.RemoteAddr)
	if err != nil {
		e := refusal{reason: wire.ReasonTooManyUnauthenticated, host: addrOf(info.RemoteAddr).String(), detail: err.Error()}
		q.refusals.note(e, q.opt.Now())
	}
	return ctx, err
}

// quicConfig has no early data, no datagrams and no streams but the one that
// the dialer opens. streams is how many the other side may open.
func quicConfig(streams int64) *quic.Config {
	return &quic.Config{
		HandshakeIdleTimeout:           handshakeTimeout,
		MaxIdleTimeout:                 idleTimeout,
		KeepAlivePeriod:                keepAlive,
		InitialPacketSize:              firstPacket,
		InitialStreamReceiveWindow:     streamWindow,
		MaxStreamReceiveWindow:         maxStreamWindow,
		InitialConnectionReceiveWindow: streamWindow,
		MaxConnectionReceiveWindow:     maxSessionWindow,
		MaxIncomingStreams:             streams,
		MaxIncomingUniStreams:          -1,
	}
}

// Addr is the socket's local address.
func (q *QUIC) Addr() net.Addr { return q.opt.Socket.LocalAddr() }

// Refused counts the refused callers by reason since the start.
func (q *QUIC) Refused() map[wire.Reason]uint64 { return q.refusals.counts() }

// Accept waits for the next connection from an approved peer. The error is an
// [*Error]; one other than the context's is final.
func (q *QUIC) Accept(ctx context.Context) (Conn, error) {
	qc, err := q.listener.Accept(ctx)
	if err != nil {
		return nil, classify("accept", err)
	}
	attemptOf(qc.Context()).leave()
	if err := q.track(qc); err != nil {
		_ = qc.CloseWithError(codeOf(wire.ReasonHubShutdown), "")
		return nil, classify("accept", err)
	}
	return newQUICConn(qc, nil), nil
}

var errClosed = errors.New("transport is closed")

// track lets Close say goodbye on every connection.
func (q *QUIC) track(qc *quic.Conn) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errors.Join(net.ErrClosed, errClosed)
	}
	q.live[qc] = struct{}{}
	context.AfterFunc(qc.Context(), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.live, qc)
	})
	return nil
}

// Close ends every connection with hub_shutdown and stops listening. It returns
// when nothing uses the socket any more, and may be called again.
func (q *QUIC) Close() error {
	q.mu.Lock()
	q.closed = true
	live := make([]*quic.Conn, 0, len(q.live))
	for qc := range q.live {
		live = append(live, qc)
	}
	q.mu.Unlock()
	err := q.listener.Close()
	for _, qc := range live {
		err = errors.Join(err, qc.CloseWithError(codeOf(wire.ReasonHubShutdown), ""))
	}
	return errors.Join(err, q.tr.Close())
}
