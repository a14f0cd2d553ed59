package transport

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// slow is a network on which every packet takes a while.
type slow struct {
	cuttable
	delay time.Duration
}

func (r *slow) SendPacket(p simnet.Packet) error {
	if r.cut.Load() {
		return nil
	}
	p.Data = bytes.Clone(p.Data)
	time.AfterFunc(r.delay, func() { _ = r.PerfectRouter.SendPacket(p) })
	return nil
}

func (r *slow) socket(t *testing.T, last byte) net.PacketConn {
	return attach(t, r, last)
}

const nobodyThere = "10.0.0.99:8877"

// reached dials and returns how long it took in virtual time.
func reached(t *testing.T, q *QUIC, endpoints ...string) (Conn, time.Duration, error) {
	t.Helper()
	began := time.Now()
	conn, err := q.Dial(t.Context(), Target{Endpoints: endpoints, Hub: "b.example"})
	return conn, time.Since(began), err
}

// TestEndpointsInTurn: what swallows packets costs a head start, what fails at
// once costs nothing, and the first that answers counts.
func TestEndpointsInTurn(t *testing.T) {
	tests := map[string]struct {
		before []string
		took   time.Duration
	}{
		"the first":            {nil, 0},
		"after a silent one":   {[]string{nobodyThere}, headStart},
		"after two of them":    {[]string{nobodyThere, "10.0.0.98:8877"}, 2 * headStart},
		"after none of a form": {[]string{"nothing", "10.0.0.98:x"}, 0},
		"after both":           {[]string{nobodyThere, "nothing"}, headStart},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &cuttable{}
				idA, idB := mint(t, "a.example"), mint(t, "b.example")
				a, b := node(t, idA, idB, network.socket(t, 1)), node(t, idB, idA, network.socket(t, 2))
				network.socket(t, 98) // nobody reads them
				network.socket(t, 99)
				conn, took, err := reached(t, a, append(test.before, b.Addr().String())...)
				if err != nil {
					t.Fatal(err)
				}
				if conn.RemoteAddr() != b.Addr().String() || took != test.took {
					t.Errorf("reached %s after %v, want %v", conn.RemoteAddr(), took, test.took)
				}
				_ = conn.Close(wire.ReasonHubShutdown)
			})
		})
	}
}

// TestNoWayOut: a network that does not take a packet at all is a lost link.
func TestNoWayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &cuttable{}
		a := node(t, mint(t, "a.example"), mint(t, "b.example"), network.socket(t, 1))
		_, took, err := reached(t, a, nobodyThere)
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != wire.ReasonLinkLost || e.Final || e.Remote || took > 0 {
			t.Errorf("ended with %v after %v", err, took)
		}
	})
}

// TestFinalFailureStops: behind the first endpoint is somebody else, and the
// peer behind the second is not tried.
func TestFinalFailureStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &cuttable{}
		idA, idB, wrong := mint(t, "a.example"), mint(t, "b.example"), mint(t, "b.example")
		a, b, other := node(t, idA, idB, network.socket(t, 1)), node(t, idB, idA, network.socket(t, 2)), node(t, wrong, idA, network.socket(t, 3))
		_, _, err := reached(t, a, other.Addr().String(), b.Addr().String())
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != wire.ReasonPinMismatch || !e.Final {
			t.Errorf("ended with %v", err)
		}
		if _, _, err := reached(t, a); err == nil {
			t.Error("dialled nowhere")
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.live) > 0 {
			t.Error("the second was tried")
		}
	})
}

// TestAllEndpointsFail ends when the last has given up.
func TestAllEndpointsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &cuttable{}
		a := node(t, mint(t, "a.example"), mint(t, "b.example"), network.socket(t, 1))
		network.socket(t, 98)
		network.socket(t, 99)
		_, took, err := reached(t, a, nobodyThere, "nothing", "10.0.0.98:8877")
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != wire.ReasonLinkLost || e.Final {
			t.Errorf("ended with %v", err)
		}
		if took > handshakeTimeout+headStart {
			t.Errorf("gave up after %v", took)
		}
	})
}

// TestSlowLoserLeavesNothing: a second endpoint of the same peer is dialled
// while the first is slow; one connection is left, on both sides.
func TestSlowLoserLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &slow{delay: 200 * time.Millisecond}
		idA, idB := mint(t, "a.example"), mint(t, "b.example")
		a, b := node(t, idA, idB, network.socket(t, 1)), node(t, idB, idA, network.socket(t, 2))
		accepted := make(chan int)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			n := 0
			for {
				conn, err := b.Accept(ctx)
				if err != nil {
					accepted <- n
					return
				}
				if _, err := conn.Read(make([]byte, 600)); err == nil {
					n++
				}
			}
		}()
		conn, _, err := reached(t, a, b.Addr().String(), b.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		writeRecord(t, conn)
		time.Sleep(2 * time.Second) // virtual: whatever is under way arrives
		a.mu.Lock()
		live := len(a.live)
		a.mu.Unlock()
		stop()
		if n := <-accepted; n != 1 || live != 1 {
			t.Errorf("%d connections were used there, %d are left here", n, live)
		}
		_ = conn.Close(wire.ReasonHubShutdown)
	})
}

// TestLateConnectionIsDropped: one that came in spite of being called off does
// not stay.
func TestLateConnectionIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &slow{delay: 200 * time.Millisecond}
		idA, idB := mint(t, "a.example"), mint(t, "b.example")
		a, b := node(t, idA, idB, network.socket(t, 1)), node(t, idB, idA, network.socket(t, 2))
		to := Target{Endpoints: []string{b.Addr().String()}, Hub: "b.example"}
		conn, failure := race(t.Context(), []int{1, 2}, func(ctx context.Context, _ int) (*quicConn, *Error) {
			return a.reach(context.WithoutCancel(ctx), to, a.opt.Trust, quicConfig(-1), nil)
		})
		if failure != nil {
			t.Fatal(failure)
		}
		time.Sleep(time.Second) // virtual
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.live) != 1 || conn.qc.Context().Err() != nil {
			t.Errorf("%d connections are left", len(a.live))
		}
	})
}

// TestKnockAtNobody gives up on its own, and at once when it is told to.
func TestKnockAtNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &cuttable{}
		idA, idB := mint(t, "a.example"), mint(t, "b.example")
		a := node(t, idA, idB, network.socket(t, 1))
		network.socket(t, 99)
		to := Target{Endpoints: []string{nobodyThere}, Hub: "b.example", Call: certs.Call{Invite: make([]byte, certs.InviteBytes)}}
		got, err := a.Knock(t.Context(), to, idB.Pin())
		if e, ok := errors.AsType[*Error](err); got != 0 || !ok || e.Final || e.Reason != wire.ReasonLinkLost {
			t.Errorf("got %d, %v", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Knock(ctx, to, idB.Pin()); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestKnockWithoutVerdict: the network is cut when this side is done with the
// handshake. That is no acceptance.
func TestKnockWithoutVerdict(t *testing.T) {
	for name, trusted := range map[string]bool{"who would accept": true, "who would refuse": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &slow{delay: 200 * time.Millisecond}
				time.AfterFunc(5*network.delay/2, func() { network.cut.Store(true) }) // our last flight is sent after two delays and judged after three
				idA, idB := mint(t, "a.example"), mint(t, "b.example")
				approved := idA
				if !trusted {
					approved = idB
				}
				a, b := node(t, idA, idB, network.socket(t, 1)), node(t, idB, approved, network.socket(t, 2))
				to := Target{Endpoints: []string{b.Addr().String()}, Hub: "b.example"}
				for _, patience := range []time.Duration{time.Second, time.Minute} { // before the connection is given up, and after
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					got, err := a.Knock(ctx, to, idB.Pin())
					if e, ok := errors.AsType[*Error](err); got != 0 || !ok || e.Final || e.Reason != wire.ReasonLinkLost {
						t.Errorf("got %d, %v", got, err)
					}
					cancel()
					network.cut.Store(false)
					time.AfterFunc(5*network.delay/2, func() { network.cut.Store(true) })
				}
				time.Sleep(time.Minute) // virtual: both ends forget
			})
		})
	}
}

// TestOnlyOneKeyIsTrusted: the trust by which a knock is made knows nobody else.
func TestOnlyOneKeyIsTrusted(t *testing.T) {
	id, other := mint(t, "b.example"), mint(t, "c.example")
	only := certs.Only("b.example", id.Pin())
	if pins, ok := only.PinsOf("b.example"); !ok || len(pins) != 1 || certs.Pin(pins[0]) != id.Pin() {
		t.Errorf("its keys are %v", pins)
	}
	if _, ok := only.PinsOf("B.example"); ok {
		t.Error("another hub is trusted")
	}
	if _, ok := only.HubOf(other.Pin()); ok {
		t.Error("another key is trusted")
	}
	if hub, ok := only.HubOf(id.Pin()); !ok || hub != "b.example" || only.Blocked(id.Pin()) != "" {
		t.Error("the key is not trusted")
	}
}
