package socket

import (
	"context"
	"time"

	"fleetrelay/hub/wire"
)

// aliveBytes received since a ping stand for its pong: a large message on a slow line keeps the pong waiting, while a
// byte now and then does not keep a socket open.
const aliveBytes = 4 << 10

// startPing arms the timer of the next ping. An idle socket has a timer and no goroutine.
func (s *Socket) startPing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ping = time.AfterFunc(s.opts.PingEvery, s.pingOnce)
	}
}

// pingOnce sends a ping and waits for a sign of life. It is counted in wg under mu, before Run begins to wait.
func (s *Socket) pingOnce() {
	s.mu.Lock()
	if s.ended || s.closing {
		s.mu.Unlock()
		return
	}
	s.wg.Add(1)
	read, handled := s.cork.read.Load(), s.handled
	s.mu.Unlock()
	defer s.wg.Done()

	ctx, cancel := context.WithTimeout(s.over, s.opts.PongWait)
	defer cancel()
	err := s.ws.Ping(ctx)
	if err != nil && ctx.Err() == context.DeadlineExceeded && !s.alive(read, handled) {
		s.Close(wire.ReasonPingTimeout)
		return
	}
	s.startPing()
}

// alive tells whether the peer has shown life since the given counts. A peer whose message the application is
// still busy with is not to blame for a pong that was not read.
func (s *Socket) alive(read int64, handled uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handling || s.handled != handled || s.cork.read.Load()-read >= aliveBytes
}
