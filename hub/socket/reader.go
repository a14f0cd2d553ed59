package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// keepBytes is the largest read buffer kept for later messages; larger messages are handed over as they were read.
const keepBytes = 16 << 10

var readBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

var errTooLarge = errors.New("socket: message too large")

// readLoop hands messages over until the WebSocket ends (lost) or the socket is closing. The closer reads
// on from there, up to the peer's close frame.
func (s *Socket) readLoop(onMessage func([]byte) error) (why wire.Reason, lost bool) {
	for !s.isClosing() {
		msg, err := s.readMessage()
		switch {
		case errors.Is(err, errTooLarge):
			s.Close(wire.ReasonMessageTooLarge)
		case err != nil:
			return endOf(err), true
		case !s.handle(msg, onMessage):
			return "", false
		}
	}
	return "", false
}

func endOf(err error) wire.Reason {
	if websocket.CloseStatus(err) != -1 {
		return wire.ReasonClientClosed
	}
	return wire.ReasonConnectionLost
}

// handle gives one message to the application unless the socket is closing, and says whether to read on.
func (s *Socket) handle(msg []byte, onMessage func([]byte) error) bool {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return false
	}
	s.handling = true
	s.handled++
	s.mu.Unlock()
	err := onMessage(msg)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handling = false
	if err != nil {
		s.closeLocked(wire.ReasonInternalError)
	}
	return !s.closing
}

// readMessage reads one message of at most ReadLimit bytes. Memory grows with what arrives, not with what a header
// announces. The context of the library's reads is the background: the socket's end closes the connection.
func (s *Socket) readMessage() ([]byte, error) {
	_, r, err := s.ws.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	p := readBuffers.Get().(*[]byte)
	b, err := s.readAll(r, (*p)[:0])
	if cap(b) > keepBytes {
		readBuffers.Put(p)
		return b, err
	}
	*p = b
	defer readBuffers.Put(p)
	return bytes.Clone(b), err
}

func (s *Socket) readAll(r io.Reader, b []byte) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > s.opts.ReadLimit:
			return nil, errTooLarge
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		}
	}
}

func (s *Socket) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}
