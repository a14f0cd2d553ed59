// Package transporttest is the one suite that every transport passes.
package transporttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// Endpoint is a transport under test.
type Endpoint interface {
	Dial(ctx context.Context, t transport.Target) (transport.Conn, error)
	Accept(ctx context.Context) (transport.Conn, error)
}

// Side is one node of a pair: its transport, who it is, where it is dialled.
type Side struct {
	Endpoint Endpoint
	Hub      wire.HubID
	Pin      certs.Pin
	Addr     string
}

// Target is where and as whom the side is dialled.
func (s Side) Target() transport.Target {
	return transport.Target{Endpoints: []string{s.Addr}, Hub: s.Hub}
}

// Pair makes two nodes that trust each other, and takes them down at the end
// of the test.
type Pair func(t *testing.T) (a, b Side)

// patience bounds every wait of the suite; nothing waits for it to pass.
const patience = 20 * time.Second

// Run runs the suite, each part on a fresh pair.
func Run(t *testing.T, pair Pair) {
	parts := map[string]func(*testing.T, Side, Side){
		"identity":       testIdentity,
		"both ways":      testBothWays,
		"back-pressure":  testBackPressure,
		"close here":     testCloseHere,
		"close there":    testCloseThere,
		"close twice":    testCloseTwice,
		"reasons":        testReasons,
		"many at once":   testManyAtOnce,
		"accept ends":    testAcceptEnds,
		"dial ends":      testDialEnds,
		"dial elsewhere": testDialElsewhere,
	}
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			part(t, a, b)
		})
	}
}

// Connect dials from one side to the other and returns both ends, after one
// byte has gone across.
func Connect(t testing.TB, from, to Side) (dialled, accepted transport.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var group errgroup.Group
	group.Go(func() (err error) {
		accepted, err = to.Endpoint.Accept(ctx)
		return err
	})
	dialled, err := from.Endpoint.Dial(ctx, to.Target())
	if err = errors.Join(err, group.Wait()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = dialled.Close(wire.ReasonHubShutdown)
		_ = accepted.Close(wire.ReasonHubShutdown)
	})
	send(t, dialled, []byte{1})
	receive(t, accepted, []byte{1})
	return dialled, accepted
}

func send(t testing.TB, c transport.Conn, p []byte) {
	t.Helper()
	if _, err := c.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
}

func receive(t testing.TB, c transport.Conn, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("received %q, %v; want %q", got, err, want)
	}
}

func testIdentity(t *testing.T, a, b Side) {
	dialled, accepted := Connect(t, a, b)
	if hub, pin := dialled.Peer(); hub != b.Hub || pin != b.Pin {
		t.Errorf("dialled %s %v, got %s %v", b.Hub, b.Pin, hub, pin)
	}
	if hub, pin := accepted.Peer(); hub != a.Hub || pin != a.Pin {
		t.Errorf("accepted %s %v, got %s %v", a.Hub, a.Pin, hub, pin)
	}
	if dialled.RemoteAddr() == "" || accepted.RemoteAddr() == "" {
		t.Errorf("remote %q %q", dialled.RemoteAddr(), accepted.RemoteAddr())
	}
}

func testBothWays(t *testing.T, a, b Side) {
	dialled, accepted := Connect(t, b, a)
	for _, pair := range [][2]transport.Conn{{dialled, accepted}, {accepted, dialled}} {
		for _, size := range []int{1, 600, transport.WriteBuffer - 1, transport.WriteBuffer, transport.WriteBuffer + 1, 3*transport.WriteBuffer + 7} {
			p := pattern(size)
			var group errgroup.Group
			group.Go(func() error {
				if _, err := pair[0].Write(p); err != nil {
					return err
				}
				return pair[0].Flush()
			})
			receive(t, pair[1], p)
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func pattern(size int) []byte {
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}

// testBackPressure writes far more than any window without a reader: the
// writer must stop, and what it wrote must arrive once there is one.
func testBackPressure(t *testing.T, a, b Side) {
	const total = 64 << 20
	dialled, accepted := Connect(t, a, b)
	var written atomic.Int64
	sent, received := sha256.New(), sha256.New()
	var group errgroup.Group
	group.Go(func() error {
		chunk := pattern(100_000)
		for written.Load() < total {
			if _, err := dialled.Write(chunk); err != nil {
				return err
			}
			sent.Write(chunk)
			written.Add(int64(len(chunk)))
		}
		return dialled.Flush()
	})
	stalled := settle(&written)
	if stalled >= total {
		t.Fatalf("%d bytes were written with nobody reading", stalled)
	}
	if _, err := io.CopyN(received, accepted, total); err != nil {
		t.Fatal(err)
	}
	rest := (total + 99_999) / 100_000 * 100_000
	if _, err := io.CopyN(received, accepted, int64(rest-total)); err != nil {
		t.Fatal(err)
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sent.Sum(nil), received.Sum(nil)) {
		t.Error("what arrived is not what was written")
	}
}

// settle waits until a counter has not moved between two looks, a while apart.
func settle(n *atomic.Int64) int64 {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := int64(-1)
	for range tick.C {
		now := n.Load()
		if now == last {
			return now
		}
		last = now
	}
	return last
}

// blocked starts a Read and a Write that cannot finish and returns what they
// end with.
func blocked(c transport.Conn) <-chan error {
	ends := make(chan error, 2)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ends <- err
	}()
	go func() {
		chunk := make([]byte, transport.WriteBuffer)
		for {
			if _, err := c.Write(chunk); err != nil {
				ends <- err
				return
			}
		}
	}()
	return ends
}

func wantEnds(t *testing.T, ends <-chan error, reason wire.Reason, remote bool) {
	t.Helper()
	deadline := time.After(patience)
	for range cap(ends) {
		select {
		case err := <-ends:
			e, ok := errors.AsType[*transport.Error](err)
			if !ok || e.Reason != reason || e.Remote != remote {
				t.Errorf("ended with %v, want %s, remote %v", err, reason, remote)
			}
		case <-deadline:
			t.Fatal("still blocked")
		}
	}
}

func testCloseHere(t *testing.T, a, b Side) {
	for _, side := range []int{0, 1} {
		var conns [2]transport.Conn
		conns[0], conns[1] = Connect(t, a, b)
		ends := blocked(conns[side])
		if err := conns[side].Close(wire.ReasonLinkReplaced); err != nil {
			t.Fatal(err)
		}
		wantEnds(t, ends, wire.ReasonLinkReplaced, false)
	}
}

func testCloseThere(t *testing.T, a, b Side) {
	for _, side := range []int{0, 1} {
		var conns [2]transport.Conn
		conns[0], conns[1] = Connect(t, a, b)
		ends := blocked(conns[side])
		if err := conns[1-side].Close(wire.ReasonRewound); err != nil {
			t.Fatal(err)
		}
		wantEnds(t, ends, wire.ReasonRewound, true)
	}
}

func testCloseTwice(t *testing.T, a, b Side) {
	dialled, accepted := Connect(t, a, b)
	var group errgroup.Group
	for range 8 {
		group.Go(func() error { return dialled.Close(wire.ReasonCloned) })
		group.Go(func() error { return accepted.Close(wire.ReasonCloned) })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	for _, c := range []transport.Conn{dialled, accepted} {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("read from a closed connection")
		}
		_, err := c.Write(make([]byte, 1))
		if err = errors.Join(err, c.Flush()); err == nil {
			t.Error("wrote to a closed connection")
		}
	}
}

// testReasons sends every reason of the list across; those that no link ends
// with arrive as link_lost.
func testReasons(t *testing.T, a, b Side) {
	for _, reason := range []wire.Reason{
		wire.ReasonHubShutdown, wire.ReasonLinkReplaced, wire.ReasonLinkDuplicate, wire.ReasonRewound, wire.ReasonCloned,
		wire.ReasonRelayVersion, wire.ReasonLinkProtocol, wire.ReasonFrameTooLarge, wire.ReasonSelfDial, wire.ReasonUnknownPeer,
		wire.ReasonPinMismatch, wire.ReasonWrongHubID, wire.ReasonInternalError, wire.ReasonJournalFailed, wire.ReasonPeerRevoked,
		wire.ReasonLinkLost, "no_such_word",
	} {
		dialled, accepted := Connect(t, a, b)
		if err := accepted.Close(reason); err != nil {
			t.Fatal(err)
		}
		want := reason
		if reason == "no_such_word" {
			want = wire.ReasonLinkLost
		}
		_, err := dialled.Read(make([]byte, 1))
		if e, ok := errors.AsType[*transport.Error](err); !ok || e.Reason != want || !e.Remote || e.Final {
			t.Errorf("%s arrived as %v", reason, err)
		}
	}
}

// testManyAtOnce uses several connections in both directions, each written and
// read at the same time.
func testManyAtOnce(t *testing.T, a, b Side) {
	const conns, rounds = 6, 300
	var group errgroup.Group
	for i := range conns {
		from, to := a, b
		if i%2 == 1 {
			from, to = b, a
		}
		left, right := Connect(t, from, to)
		group.Go(func() error { return echo(right, rounds) })
		group.Go(func() error { return ask(left, byte(i), rounds) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

const record = 600

func echo(c transport.Conn, rounds int) error {
	buf := make([]byte, record)
	for range rounds {
		if _, err := io.ReadFull(c, buf); err != nil {
			return err
		}
		if _, err := c.Write(buf); err != nil {
			return err
		}
		if err := c.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func ask(c transport.Conn, mark byte, rounds int) error {
	var group errgroup.Group
	group.Go(func() error {
		for n := range rounds {
			if _, err := c.Write(bytes.Repeat([]byte{mark ^ byte(n)}, record)); err != nil {
				return err
			}
			if err := c.Flush(); err != nil {
				return err
			}
		}
		return nil
	})
	buf := make([]byte, record)
	for n := range rounds {
		if _, err := io.ReadFull(c, buf); err != nil {
			return err
		}
		if want := mark ^ byte(n); buf[0] != want || buf[record-1] != want {
			return fmt.Errorf("record %d of connection %d holds %x", n, mark, buf[0])
		}
	}
	return group.Wait()
}

func testAcceptEnds(t *testing.T, a, _ Side) {
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan error)
	go func() {
		_, err := a.Endpoint.Accept(ctx)
		end <- err
	}()
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) {
		t.Errorf("Accept ended with %v", err)
	}
}

func testDialEnds(t *testing.T, a, b Side) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Endpoint.Dial(ctx, b.Target()); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial ended with %v", err)
	}
}

// testDialElsewhere asks for a hub that is not the one at the address, and for
// one that is no peer.
func testDialElsewhere(t *testing.T, a, b Side) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, want := range []wire.HubID{"nobody.example", a.Hub} {
		_, err := a.Endpoint.Dial(ctx, transport.Target{Endpoints: []string{b.Addr}, Hub: want})
		if e, ok := errors.AsType[*transport.Error](err); !ok || !e.Final || e.Remote || e.Reason != wire.ReasonUnknownPeer {
			t.Errorf("%s: %v", want, err)
		}
	}
}
