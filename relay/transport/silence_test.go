package transport

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/testutils/simnet"

	"fleetrelay/hub/wire"
)

// cuttable is a perfect network until it is cut.
type cuttable struct {
	simnet.PerfectRouter
	cut atomic.Bool
}

func (r *cuttable) SendPacket(p simnet.Packet) error {
	if r.cut.Load() {
		return nil
	}
	return r.PerfectRouter.SendPacket(p)
}

func (r *cuttable) socket(t *testing.T, last byte) net.PacketConn {
	return attach(t, r, last)
}

// attach gives a network a socket with the address 10.0.0.last.
func attach(t *testing.T, r simnet.Router, last byte) net.PacketConn {
	addr := &net.UDPAddr{IP: net.IPv4(10, 0, 0, last).To4(), Port: 8877}
	c := simnet.NewBlockingSimConn(addr, r)
	r.AddNode(addr, c)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestSilence holds an idle connection for an hour, then cuts the network: both
// ends must notice within the idle timeout, which QUIC counts from the first
// heartbeat that is not answered.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &cuttable{}
		idA, idB := mint(t, "a.example"), mint(t, "b.example")
		a, b := node(t, idA, idB, network.socket(t, 1)), node(t, idB, idA, network.socket(t, 2))
		dialled, err := a.Dial(t.Context(), Target{Endpoints: []string{b.Addr().String()}, Hub: "b.example"})
		if err != nil {
			t.Fatal(err)
		}
		writeRecord(t, dialled)
		accepted, err := b.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(accepted, make([]byte, 600)); err != nil {
			t.Fatal(err)
		}
		ends := make(chan error, 2)
		for _, c := range []Conn{dialled, accepted} {
			go func() {
				_, err := c.Read(make([]byte, 1))
				ends <- err
			}()
		}
		time.Sleep(time.Hour) // virtual: the connection is idle
		if len(ends) > 0 {
			t.Fatalf("an idle connection ended: %v", <-ends)
		}
		network.cut.Store(true)
		began := time.Now()
		for range 2 {
			err := <-ends
			e, ok := errors.AsType[*Error](err)
			if _, idle := errors.AsType[*quic.IdleTimeoutError](err); !ok || !idle || e.Reason != wire.ReasonLinkLost {
				t.Errorf("ended with %v", err)
			}
		}
		if took := time.Since(began); took > idleTimeout+keepAlive || took < idleTimeout-2*keepAlive {
			t.Errorf("noticed after %v", took)
		}
	})
}

// TestDialIntoSilence gives up on its own and says that the link is lost.
func TestDialIntoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &cuttable{}
		network.cut.Store(true)
		idA, idB := mint(t, "a.example"), mint(t, "b.example")
		a := node(t, idA, idB, network.socket(t, 1))
		began := time.Now()
		_, err := a.Dial(t.Context(), Target{Endpoints: []string{"10.0.0.9:8877"}, Hub: "b.example"})
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != wire.ReasonLinkLost || e.Final {
			t.Errorf("ended with %v", err)
		}
		if took := time.Since(began); took > handshakeTimeout {
			t.Errorf("gave up after %v", took)
		}
	})
}
