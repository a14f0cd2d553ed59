package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// headStart is how long a place that was dialled has before the next is dialled
// beside it: one that swallows packets must not hold up those that work.
const headStart = 250 * time.Millisecond

// Target is who is to be reached, and where.
type Target struct {
	// Endpoints are HOST:PORT, the best first.
	Endpoints []string
	// Hub is who must be there.
	Hub wire.HubID
	// Call is what this node says of itself to a hub that may not have approved
	// it; the zero value says nothing.
	Call certs.Call
}

// Dial connects to the target and proves that it is the hub wanted. It tries
// the endpoints, and the addresses of each, in their order, the next one as soon
// as the one before failed or has not answered for a quarter of a second; the
// first connection counts and the others are dropped. After a final failure
// nothing is tried any more. The error is an [*Error].
func (q *QUIC) Dial(ctx context.Context, t Target) (Conn, error) {
	made, failure := q.reach(ctx, t, q.opt.Trust, quicConfig(-1), nil)
	if failure != nil {
		return nil, failure
	}
	return made, nil
}

// reach is Dial with another trust or settings. judged, if not nil, is asked
// about each connection before it counts.
func (q *QUIC) reach(ctx context.Context, t Target, trust func() certs.Trust, settings *quic.Config, judged func(context.Context, *quic.Conn) error) (*quicConn, *Error) {
	conf := certs.LinkClient(q.opt.Identity, string(t.Hub), trust, q.opt.Now, t.Call)
	return race(ctx, t.Endpoints, func(ctx context.Context, endpoint string) (*quicConn, *Error) {
		addrs, err := resolve(ctx, endpoint)
		if err != nil {
			return nil, &Error{Op: "dial", Reason: wire.ReasonLinkLost, Err: err}
		}
		return race(ctx, addrs, func(ctx context.Context, addr *net.UDPAddr) (*quicConn, *Error) {
			qc, err := q.tr.Dial(ctx, addr, conf, settings)
			if err != nil {
				return nil, classify("dial", err)
			}
			c, err := q.begin(ctx, qc, judged)
			if err != nil {
				_ = qc.CloseWithError(codeOf(wire.ReasonLinkLost), "")
				return nil, classify("dial", err)
			}
			return c, nil
		})
	})
}

// begin opens the one stream of a connection.
func (q *QUIC) begin(ctx context.Context, qc *quic.Conn, judged func(context.Context, *quic.Conn) error) (*quicConn, error) {
	if judged != nil {
		if err := judged(ctx, qc); err != nil {
			return nil, err
		}
	}
	stream, err := qc.OpenStreamSync(ctx)
	if err != nil {
		return nil, err
	}
	if err := q.track(qc); err != nil {
		return nil, err
	}
	return newQUICConn(qc, stream), nil
}

var errNowhere = errors.New("there is no endpoint to dial")

// race tries places in their order, each with a head start before the next, and
// returns when the first has succeeded, one has failed for good or all have
// failed. Of several failures the first that says more than that the link is
// lost is told. Nothing it started goes on.
func race[P any](ctx context.Context, places []P, try func(context.Context, P) (*quicConn, *Error)) (*quicConn, *Error) {
	if len(places) == 0 {
		return nil, &Error{Op: "dial", Reason: wire.ReasonLinkLost, Err: errNowhere}
	}
	ctx, stop := context.WithCancel(ctx)
	type result struct {
		conn    *quicConn
		failure *Error
	}
	results := make(chan result, len(places)) // so that nobody waits to be heard
	begun, over := 0, 0
	defer func() {
		stop()
		for ; over < begun; over++ {
			if late := <-results; late.conn != nil {
				_ = late.conn.Close(wire.ReasonLinkDuplicate)
			}
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var told *Error
	for {
		select {
		case <-timer.C:
			place := places[begun]
			begun++
			go func() {
				conn, failure := try(ctx, place)
				results <- result{conn, failure}
			}()
			if begun < len(places) {
				timer.Reset(headStart)
			}
		case r := <-results:
			over++
			if r.failure == nil || r.failure.Final {
				return r.conn, r.failure
			}
			if told == nil || told.Reason == wire.ReasonLinkLost {
				told = r.failure
			}
			if over == len(places) || ctx.Err() != nil {
				return nil, told
			}
			if begun < len(places) {
				timer.Reset(0)
			}
		}
	}
}

// resolve returns the addresses of HOST:PORT, at least one.
func resolve(ctx context.Context, endpoint string) ([]*net.UDPAddr, error) {
	host, portText, err := net.SplitHostPort(endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", endpoint, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", endpoint, err)
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", endpoint, err)
	}
	addrs := make([]*net.UDPAddr, len(ips))
	for i, ip := range ips {
		addrs[i] = net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	}
	return addrs, nil
}
