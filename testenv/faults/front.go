package faults

import (
	"errors"
	"net"
	"net/netip"
	"sync"
)

// front stands for one program.
type front struct {
	wire   *Wire
	target netip.AddrPort
	way    Direction
	socket *net.UDPConn

	mu     sync.Mutex
	closed bool
	calls  map[netip.AddrPort]*call
}

// call is one caller of a front, with the socket that stands for it before the program.
type call struct {
	caller netip.AddrPort
	socket *net.UDPConn
}

const (
	// maxPacket is more than a datagram can hold.
	maxPacket = 64 << 10
	// socketBuffer in bytes is asked for, so that the operating system loses little that the plan does not; it may give less.
	socketBuffer = 4 << 20
	// maxCalls bounds the callers of one front: further ones are not heard.
	maxCalls = 256
)

// listen opens a loopback socket.
func listen() (*net.UDPConn, error) {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	_ = socket.SetReadBuffer(socketBuffer) // a wish: with less, more is lost, which is what a network may do
	return socket, nil
}

// run carries what callers send until the front is closed.
func (f *front) run() {
	buf := make([]byte, maxPacket)
	for {
		n, from, err := f.socket.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an answer of the operating system to an earlier packet that nobody took
		}
		c := f.callOf(from)
		if c == nil {
			continue
		}
		f.wire.carry(f.way, append([]byte(nil), buf[:n]...), func(p []byte) error {
			_, err := c.socket.WriteToUDPAddrPort(p, f.target)
			return err
		})
	}
}

// callOf is the call of a caller, made with its first packet; nil when there can be none.
func (f *front) callOf(from netip.AddrPort) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.calls[from]; c != nil {
		return c
	}
	if f.closed || len(f.calls) >= maxCalls {
		return nil
	}
	socket, err := listen()
	if err != nil {
		return nil
	}
	c := &call{caller: from, socket: socket}
	f.calls[from] = c
	f.wire.running.Go(func() { f.answer(c) })
	return c
}

// answer carries what the program answers one caller.
func (f *front) answer(c *call) {
	buf := make([]byte, maxPacket)
	for {
		n, from, err := c.socket.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || unmapped(from) != f.target {
			continue // nobody else may speak into the conversation
		}
		f.wire.carry(f.way.Other(), append([]byte(nil), buf[:n]...), func(p []byte) error {
			_, err := f.socket.WriteToUDPAddrPort(p, c.caller)
			return err
		})
	}
}

// unmapped writes an IPv4 address in its own form, in which addresses are compared.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

func (f *front) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	errs := []error{f.socket.Close()}
	for _, c := range f.calls {
		errs = append(errs, c.socket.Close())
	}
	return errors.Join(errs...)
}
