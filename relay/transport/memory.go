package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// Network carries links within one process: no sockets, no TLS, real or virtual
// time. It keeps the contract of the package, what it costs excepted: keys are
// believed, and calls are not held back.
type Network struct {
	mu    sync.Mutex
	moved *sync.Cond // anything of any connection changed
	nodes map[string]*Memory
	delay time.Duration // of every byte, one way
	cut   bool
	conns map[*memConn]struct{}
}

// NewNetwork makes a network without nodes, without delay.
func NewNetwork() *Network {
	n := &Network{nodes: map[string]*Memory{}, conns: map[*memConn]struct{}{}}
	n.moved = sync.NewCond(&n.mu)
	return n
}

// SetDelay makes every byte that is sent from now on take so long, one way.
func (n *Network) SetDelay(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = d
}

// Cut stops everything on its way, or lets it go on: connections stay, what was
// written waits, and who dials meanwhile hears nothing until its time is over,
// even if the network is whole again by then. A connection that one end closed
// meanwhile is a lost link to the other, afterwards.
func (n *Network) Cut(cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
	if !cut {
		for c := range n.conns {
			if c.closed != nil && c.other.closed == nil {
				c.other.closed = &Error{Reason: wire.ReasonLinkLost, Remote: true, Err: net.ErrClosed}
			}
		}
	}
	n.moved.Broadcast()
}

// MemoryOptions is one node of a [Network]. All but Knocked are required.
type MemoryOptions struct {
	Hub wire.HubID
	Pin certs.Pin
	// Addr is where it is dialled, any text; its own.
	Addr string
	// Trust returns the current snapshot; read at every handshake.
	Trust func() certs.Trust
	// Knocked is told of every caller that is refused with unknown_peer. It must
	// not block.
	Knocked func(federation.Knock)
}

// Memory is one node's place in a [Network].
type Memory struct {
	net    *Network
	opt    MemoryOptions
	calls  chan *memConn
	closed chan struct{}
	once   sync.Once
}

// Join adds a node; it replaces one at the same address.
func (n *Network) Join(o MemoryOptions) *Memory {
	m := &Memory{net: n, opt: o, calls: make(chan *memConn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[o.Addr] = m
	return m
}

var errNoAnswer = errors.New("nothing answered")

// Dial connects to the target and proves that it is the hub wanted, trying its
// endpoints in turn. The error is an [*Error].
func (m *Memory) Dial(ctx context.Context, t Target) (Conn, error) {
	c, failure := m.reach(ctx, t, m.opt.Trust())
	if failure != nil {
		return nil, failure
	}
	return c, nil
}

// Knock is [QUIC.Knock].
func (m *Memory) Knock(ctx context.Context, t Target, pin certs.Pin) (KnockResult, error) {
	c, failure := m.reach(ctx, t, certs.Only(string(t.Hub), pin))
	switch {
	case failure == nil:
		_ = c.Close(wire.ReasonLinkLost)
		return KnockAccepted, nil
	case failure.Remote && failure.Reason == wire.ReasonCertificateRefused:
		return KnockRefused, nil
	}
	return 0, failure
}

func (m *Memory) reach(ctx context.Context, t Target, trust certs.Trust) (c *memConn, failure *Error) {
	failure = &Error{Op: "dial", Reason: wire.ReasonLinkLost, Err: errNowhere}
	for _, endpoint := range t.Endpoints {
		if c, failure = m.call(ctx, endpoint, t, trust); failure == nil || failure.Final || ctx.Err() != nil {
			break
		}
	}
	return c, failure
}

// call makes one connection: there and back, the judgement of both sides, and
// the acceptor's taking of it.
func (m *Memory) call(ctx context.Context, endpoint string, t Target, trust certs.Trust) (*memConn, *Error) {
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errNoAnswer)
	defer cancel()
	there, delay := m.net.find(endpoint)
	if there == nil || !sleep(ctx, 2*delay) {
		<-ctx.Done() // a packet that vanished has no answer
		return nil, &Error{Op: "dial", Reason: wire.ReasonLinkLost, Err: context.Cause(ctx)}
	}
	if failure := judge(trust, t.Hub, there.opt.Hub, there.opt.Pin); failure != nil {
		return nil, failure
	}
	if failure := there.admit(m, t); failure != nil {
		return nil, failure
	}
	mine, theirs := m.net.pair(m, there)
	select {
	case there.calls <- theirs:
		return mine, nil
	case <-there.closed:
		mine.abandon()
		return nil, &Error{Op: "dial", Reason: wire.ReasonLinkLost, Remote: true, Err: net.ErrClosed}
	case <-ctx.Done():
		mine.abandon()
		return nil, &Error{Op: "dial", Reason: wire.ReasonLinkLost, Err: context.Cause(ctx)}
	}
}

// find is the node at an address, nil where nothing gets through.
func (n *Network) find(addr string) (*Memory, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.nodes[addr]
	if n.cut || m == nil || isClosed(m.closed) {
		return nil, n.delay
	}
	return m, n.delay
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sleep waits; false says that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// judge is the dialer's verdict on who is there.
func judge(trust certs.Trust, want, hub wire.HubID, pin certs.Pin) *Error {
	pins, known := trust.PinsOf(string(want))
	var why wire.Reason
	switch blocked := trust.Blocked(pin); {
	case blocked != "":
		why = wire.Reason(blocked)
	case !known:
		why = wire.ReasonUnknownPeer
	case hub != want:
		why = wire.ReasonWrongHubID
	case !slices.Contains(pins, [32]byte(pin)):
		why = wire.ReasonPinMismatch
	default:
		return nil
	}
	err := &certs.Error{Code: certs.Code(why), Detail: fmt.Sprintf("dialled %s and found %s with key %v", want, hub, pin), Hub: string(hub), Pin: pin}
	return &Error{Op: "dial", Reason: why, Final: true, Err: err}
}

var errRefused = errors.New("the other side refused this node's key")

// admit is the acceptor's verdict on who calls.
func (m *Memory) admit(caller *Memory, t Target) *Error {
	trust, pin := m.opt.Trust(), [32]byte(caller.opt.Pin)
	if hub, ok := trust.HubOf(pin); ok && hub == string(caller.opt.Hub) && trust.Blocked(pin) == "" {
		return nil
	} else if _, named := trust.PinsOf(string(caller.opt.Hub)); !ok && !named && trust.Blocked(pin) == "" && m.opt.Knocked != nil {
		k := federation.Knock{Hub: caller.opt.Hub, Pin: pin, Host: caller.opt.Addr, Endpoints: slices.Clone(t.Call.Endpoints)}
		if len(t.Call.Invite) > 0 {
			k.Invite = federation.InviteHash(t.Call.Invite)
		}
		m.opt.Knocked(k)
	}
	return &Error{Op: "dial", Reason: wire.ReasonCertificateRefused, Remote: true, Final: true, Err: errRefused}
}

// Accept waits for the next connection from an approved peer. The error is an
// [*Error]; one other than the context's is final.
func (m *Memory) Accept(ctx context.Context) (Conn, error) {
	select {
	case c := <-m.calls:
		return c, nil
	case <-m.closed:
		return nil, &Error{Op: "accept", Reason: wire.ReasonLinkLost, Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, &Error{Op: "accept", Reason: wire.ReasonLinkLost, Err: ctx.Err()}
	}
}

// Close ends the node's connections with hub_shutdown and takes it off the
// network. It may be called again.
func (m *Memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	m.net.mu.Lock()
	var mine []*memConn
	for c := range m.net.conns {
		if c.here == m {
			mine = append(mine, c)
		}
	}
	m.net.mu.Unlock()
	for _, c := range mine {
		_ = c.Close(wire.ReasonHubShutdown)
	}
	return nil
}
