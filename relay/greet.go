package relay

import (
	"context"
	"io"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// helloTime bounds the wait for the peer's hello on a connection.
const helloTime = 5 * time.Second

// greeter is what of the relay a hello is judged by.
type greeter struct {
	self     wire.HubID
	instance [16]byte
	speaks   frame.Versions
	maxBody  int
	offer    federation.Ceiling
}

// dialled says our hello on a connection we made and waits for the answer.
func (g *greeter) dialled(ctx context.Context, conn Conn, ours *frame.Hello) (*session, error) {
	stop := closeLate(ctx, conn)
	defer stop()
	if _, err := conn.Write(ours.Append(nil)); err != nil {
		return nil, lostOr(err)
	}
	if err := conn.Flush(); err != nil {
		return nil, lostOr(err)
	}
	s, err := g.listen(conn)
	if s != nil {
		s.dialled = true
	}
	return s, err
}

// accepted waits for the hello on a connection that was made to us.
func (g *greeter) accepted(ctx context.Context, conn Conn) (*session, error) {
	stop := closeLate(ctx, conn)
	defer stop()
	return g.listen(conn)
}

// closeLate closes conn when ctx ends or the time for a hello is over, so that reading from it ends too. The returned
// function disarms it.
func closeLate(ctx context.Context, conn Conn) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	disarm := context.AfterFunc(ctx, func() { _ = conn.Close(wire.ReasonLinkLost) })
	return func() {
		disarm()
		cancel()
	}
}

// listen reads the peer's hello, or the goodbye that stands in its place.
func (g *greeter) listen(conn Conn) (*session, error) {
	p := newPulse()
	in := frame.NewReader(listener{conn, p}, frame.PayloadCeiling(g.maxBody))
	f, err := in.Next()
	if err != nil {
		return nil, lostOr(err)
	}
	if f.Type == wire.LinkBye {
		b, err := frame.ParseBye(f)
		if err != nil {
			return nil, lostOr(err)
		}
		return nil, &byeError{b.Reason}
	}
	hello, version, err := frame.ParseHello(f, g.speaks)
	if err != nil {
		return nil, lostOr(err)
	}
	peer, pin := conn.Peer()
	if err := g.judge(&hello, peer); err != nil {
		return nil, err
	}
	return &session{conn: conn, pin: pin, in: in, theirs: hello, version: version, unknown: frame.UnknownOffer(f), pulse: p}, nil
}

// judge compares who the peer says it is with who it was proved to be.
func (g *greeter) judge(h *frame.Hello, proved wire.HubID) error {
	switch {
	case h.Hub == g.self || h.Instance == g.instance:
		return refuse(wire.ReasonSelfDial, "this is me")
	case h.Hub != proved:
		return refuse(wire.ReasonWrongHubID, "the key is that of %s and the hello names another hub", proved)
	}
	return nil
}

// sayGoodbye refuses a connection that is not a link: it writes what is to be said before, and the reason, waits for the
// peer to take it, and closes.
func sayGoodbye(conn Conn, reason wire.Reason, before ...byte) {
	late := time.AfterFunc(farewellTime, func() { _ = conn.Close(reason) })
	defer late.Stop()
	bye := frame.Bye{Reason: reason}
	if _, err := conn.Write(bye.Append(before)); err == nil && conn.Flush() == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
	_ = conn.Close(reason)
}
