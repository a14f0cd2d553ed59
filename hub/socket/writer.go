package socket

import (
	"context"
	"errors"
	"os"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// keepItems is the largest queue array kept by an idle socket.
const keepItems = 64

// writeLoop is the writer goroutine. It ends when the WebSocket has ended, after a last flush, or when writing failed.
func (s *Socket) writeLoop() {
	defer s.failRest()
	var spare []Item
	closer := false
	for {
		batch, closing, drop := s.take(spare)
		switch {
		case drop:
			s.settle(batch, false)
		case !s.writeItems(batch):
			return
		}
		spare = emptied(batch)
		if len(batch) > 0 {
			continue // more may have come meanwhile: it leaves with what is in the cork
		}
		if !s.flush() {
			return
		}
		if closing && !closer {
			closer = true
			s.wg.Go(s.closeHandshake)
		}
		if !s.wait() {
			s.flush()
			return
		}
	}
}

// wait returns when there may be something to write; false when the WebSocket has ended.
func (s *Socket) wait() bool {
	select {
	case <-s.over.Done():
		return false
	case <-s.cork.wake:
		return true
	}
}

// take gives the writer everything queued. spare is an empty array for what is queued next.
func (s *Socket) take(spare []Item) (batch []Item, closing, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, s.queue = s.queue, spare
	return batch, s.closing, s.drop
}

// writeItems writes the frames of the items, flushing where much is pending. False: the socket has ended.
func (s *Socket) writeItems(items []Item) bool {
	s.cork.setBatch(true)
	defer s.cork.setBatch(false)
	for i, it := range items {
		if !s.writeItem(it) {
			s.settle(items[i:], false)
			return s.dropping() // then the close frame is still to go out
		}
		s.taken = append(s.taken, it)
	}
	return true
}

// writeItem puts one item's frames into the cork. False: the socket failed or drops its queue; then the item is not done.
func (s *Socket) writeItem(it Item) bool {
	ok := !s.dropping()
	if !ok {
		return false
	}
	it.Frames(func(frame []byte) bool {
		ok = s.ws.Write(context.Background(), websocket.MessageText, frame) == nil
		if ok && s.cork.size() >= flushBytes {
			ok = s.flush() && !s.dropping()
		}
		return ok
	})
	return ok
}

// flush empties the cork into the network and settles the items whose frames are all out. After a failure the connection
// is of no use, so it is cut, which ends the reader.
func (s *Socket) flush() bool {
	if err := s.cork.flush(s.opts.WriteTimeout); err != nil {
		s.lost(err)
		return false
	}
	s.settle(s.taken, true)
	s.taken = emptied(s.taken)
	return true
}

func (s *Socket) lost(err error) {
	why := wire.ReasonConnectionLost
	if errors.Is(err, os.ErrDeadlineExceeded) {
		why = wire.ReasonWriteFailed
	}
	s.setReason(why)
	s.cork.abort()
}

// settle takes items off the queue's account and tells them.
func (s *Socket) settle(items []Item, ok bool) {
	if len(items) == 0 {
		return
	}
	n := 0
	for _, it := range items {
		n += it.Size()
	}
	s.mu.Lock()
	s.count -= len(items)
	s.bytes -= n
	s.mu.Unlock()
	for _, it := range items {
		it.Written(ok)
	}
}

func emptied(items []Item) []Item {
	clear(items)
	if cap(items) > keepItems {
		return nil
	}
	return items[:0]
}

// failRest tells every item that will not be written. No item is taken any more when it runs to its end: closing is set
// first.
func (s *Socket) failRest() {
	s.mu.Lock()
	s.closing, s.drop = true, true
	rest := s.queue
	s.queue = nil
	s.mu.Unlock()
	s.settle(s.taken, false)
	s.taken = nil
	s.finish()
	s.settle(rest, false)
}

func (s *Socket) dropping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drop
}

// closeHandshake sends the close frame and waits for the peer's, at most until the connection is cut.
func (s *Socket) closeHandshake() {
	s.mu.Lock()
	reason := s.reason
	s.mu.Unlock()
	code, text := closeFrame(reason)
	_ = s.ws.Close(code, text)
	s.finish()
}
