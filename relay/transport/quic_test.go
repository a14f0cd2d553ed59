package transport_test

import (
	"net"
	"testing"

	"go.uber.org/goleak"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
	"fleetrelay/relay/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQUIC(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) (a, b transporttest.Side) { return quicPair(t) })
}

func identity(t testing.TB, hub string) *certs.Identity {
	t.Helper()
	id, err := certstest.Identity(certstest.Spec{Hub: hub})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func quicPair(t testing.TB) (a, b transporttest.Side) {
	t.Helper()
	idA, idB := identity(t, "a.example"), identity(t, "B_b.example")
	trustA, trustB := certstest.Trusting(idB), certstest.Trusting(idA)
	return side(t, idA, trustA), side(t, idB, trustB)
}

func side(t testing.TB, id *certs.Identity, trust certs.Trust) transporttest.Side {
	t.Helper()
	q := start(t, udp(t, "127.0.0.1:0"), transport.Options{Identity: id, Trust: func() certs.Trust { return trust }})
	return transporttest.Side{Endpoint: q, Hub: wire.HubID(id.HubID()), Pin: id.Pin(), Addr: q.Addr().String()}
}

func udp(t testing.TB, addr string) net.PacketConn {
	t.Helper()
	socket, err := net.ListenPacket("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return socket
}

func start(t testing.TB, socket net.PacketConn, o transport.Options) *transport.QUIC {
	t.Helper()
	o.Socket = socket
	q, err := transport.NewQUIC(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}
