package transport_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
	"fleetrelay/relay/transport/transporttest"
)

func TestMemory(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) (a, b transporttest.Side) {
		_, a, b = memoryPair(t, nil)
		return a, b
	})
}

// memoryPair is two nodes that trust each other, or whom trust says.
func memoryPair(t *testing.T, trust map[wire.HubID]certs.Trust, knocked ...func(federation.Knock)) (n *transport.Network, a, b transporttest.Side) {
	t.Helper()
	n = transport.NewNetwork()
	join := func(hub, other wire.HubID) transporttest.Side {
		o := transport.MemoryOptions{Hub: hub, Pin: memoryPin(hub), Addr: "at " + string(hub), Trust: func() certs.Trust {
			if given, ok := trust[hub]; ok {
				return given
			}
			return certstest.Trust{string(other): {memoryPin(other)}}
		}}
		for _, k := range knocked {
			o.Knocked = k
		}
		m := n.Join(o)
		t.Cleanup(func() { _ = m.Close() })
		return transporttest.Side{Endpoint: m, Hub: hub, Pin: o.Pin, Addr: o.Addr}
	}
	return n, join("a.example", "b.example"), join("b.example", "a.example")
}

func memoryPin(hub wire.HubID) (p certs.Pin) {
	copy(p[:], hub)
	return p
}

// TestMemoryKnock goes through what an inviter can be to who knocks, as TestKnock
// does over QUIC.
func TestMemoryKnock(t *testing.T) {
	alpha, other := memoryPin("a.example"), memoryPin("c.example")
	nobody := certstest.Trust{}
	turned := certstest.Trusts{Trust: nobody, Turned: map[certs.Pin]certs.Code{memoryPin("b.example"): certs.PeerRejected}}
	for name, c := range map[string]struct {
		trust   certs.Trust
		hub     wire.HubID
		pin     certs.Pin
		want    transport.KnockResult
		why     wire.Reason
		knocked int
	}{
		"not approved yet": {nobody, "a.example", alpha, transport.KnockRefused, "", 1},
		"approved":         {certstest.Trust{"b.example": {memoryPin("b.example")}}, "a.example", alpha, transport.KnockAccepted, "", 0},
		"turned away":      {turned, "a.example", alpha, transport.KnockRefused, "", 0},
		"another key":      {nobody, "a.example", other, 0, wire.ReasonPinMismatch, 0},
		"another hub":      {nobody, "x.example", other, 0, wire.ReasonWrongHubID, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var knocks heard
			_, a, b := memoryPair(t, map[wire.HubID]certs.Trust{"a.example": c.trust, "b.example": nobody}, knocks.tell)
			if c.want == transport.KnockAccepted {
				go func() { _, _ = a.Endpoint.Accept(t.Context()) }()
			}
			got, err := b.Endpoint.(*transport.Memory).Knock(t.Context(), invited(a.Addr, c.hub), c.pin)
			if e, ok := errors.AsType[*transport.Error](err); got != c.want || (err != nil) != (c.why != "") || ok && (e.Reason != c.why || !e.Final || e.Remote) {
				t.Errorf("knocked with %d, %v", got, err)
			}
			if list := knocks.all(); len(list) != c.knocked || len(list) > 0 && list[0].Invite != federation.InviteHash(secret) {
				t.Errorf("told of %v", list)
			}
		})
	}
}

// TestMemoryCut: nothing crosses a cut network, and who dials hears nothing; what
// was under way arrives afterwards.
func TestMemoryCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b := memoryPair(t, nil)
		dialled, accepted := transporttest.Connect(t, a, b)
		n.Cut(true)
		if _, err := dialled.Write([]byte("late")); err != nil || dialled.Flush() != nil {
			t.Fatal(err)
		}
		arrived := make(chan error, 1)
		go func() {
			_, err := accepted.Read(make([]byte, 4))
			arrived <- err
		}()
		began := time.Now()
		_, err := a.Endpoint.Dial(t.Context(), b.Target())
		if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != wire.ReasonLinkLost || e.Remote || e.Final {
			t.Errorf("dialled with %v", err)
		}
		if took := time.Since(began); took < time.Second || took > 3*time.Second {
			t.Errorf("gave up after %v", took)
		}
		synctest.Wait()
		if len(arrived) > 0 {
			t.Fatal("bytes crossed")
		}
		n.Cut(false)
		if err := <-arrived; err != nil {
			t.Error(err)
		}
	})
}

// TestMemoryCloseWhileCut: the other end learns of it when the network is whole.
func TestMemoryCloseWhileCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b := memoryPair(t, nil)
		dialled, accepted := transporttest.Connect(t, a, b)
		n.Cut(true)
		_ = dialled.Close(wire.ReasonHubShutdown)
		ended := make(chan error, 1)
		go func() {
			_, err := accepted.Read(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("the close crossed")
		}
		n.Cut(false)
		if e, ok := errors.AsType[*transport.Error](<-ended); !ok || e.Reason != wire.ReasonLinkLost || !e.Remote {
			t.Errorf("ended with %v", e)
		}
	})
}

// TestMemoryDelay: bytes and handshakes take their time, however many are under
// way.
func TestMemoryDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const way = 120 * time.Millisecond
		n, a, b := memoryPair(t, nil)
		n.SetDelay(way)
		began := time.Now()
		dialled, accepted := transporttest.Connect(t, a, b)
		if took := time.Since(began); took != 3*way {
			t.Errorf("a connection and a byte took %v", took)
		}
		began = time.Now()
		for range 10 {
			_, _ = dialled.Write([]byte("x"))
			_ = dialled.Flush()
		}
		for range 10 {
			if _, err := accepted.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != way {
			t.Errorf("ten bytes took %v", took)
		}
	})
}

// TestMemoryNobodyThere: an address without a node is silence, and a node that
// closed is one.
func TestMemoryNobodyThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := memoryPair(t, nil)
		_ = b.Endpoint.(*transport.Memory).Close()
		for _, target := range []transport.Target{b.Target(), {Endpoints: []string{"nowhere"}, Hub: b.Hub}, {Hub: b.Hub}} {
			_, err := a.Endpoint.Dial(context.Background(), target)
			if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != wire.ReasonLinkLost || e.Final {
				t.Errorf("%v: %v", target, err)
			}
		}
	})
}
