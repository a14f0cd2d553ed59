package transport

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
	"fleetrelay/hub/wire"
)

// TestRestartIsNoticed replaces a node by one with the same key on the same
// port, without a goodbye. Its peer's next bytes must end the connection, well
// before the idle timeout would.
func TestRestartIsNoticed(t *testing.T) {
	idA, idB := mint(t, "a.example"), mint(t, "b.example")
	a, b := node(t, idA, idB, listen(t)), node(t, idB, idA, listen(t))
	socket := b.opt.Socket
	conn, err := a.Dial(t.Context(), Target{Endpoints: []string{b.Addr().String()}, Hub: "b.example"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(wire.ReasonLinkLost)
	writeRecord(t, conn)
	accepted, err := b.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(accepted, make([]byte, 600)); err != nil {
		t.Fatal(err)
	}
	if err := b.tr.Close(); err != nil { // as a crash: nobody is told
		t.Fatal(err)
	}
	node(t, idB, idA, socket)

	began := time.Now()
	writeRecord(t, conn)
	_, err = conn.Read(make([]byte, 1))
	took := time.Since(began)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != wire.ReasonLinkLost || e.Final {
		t.Fatalf("ended with %v", err)
	}
	if _, ok := errors.AsType[*quic.StatelessResetError](err); !ok {
		t.Errorf("noticed by %v after %v and not by a reset", err, took)
	}
	t.Logf("noticed after %v", took)
}

func mint(t *testing.T, hub string) *certs.Identity {
	t.Helper()
	id, err := certstest.Identity(certstest.Spec{Hub: hub})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func listen(t *testing.T) net.PacketConn {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return socket
}

func node(t *testing.T, id, peer *certs.Identity, socket net.PacketConn) *QUIC {
	t.Helper()
	trust := certstest.Trusting(peer)
	q, err := NewQUIC(Options{Identity: id, Trust: func() certs.Trust { return trust }, Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

func writeRecord(t *testing.T, conn Conn) {
	t.Helper()
	if _, err := conn.Write(make([]byte, 600)); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
}
