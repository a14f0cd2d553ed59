package socket

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// Item is what Send queues: one frame, or a run of frames that must not be interleaved with others. One item may
// be queued on many sockets at once, so its methods must be safe for concurrent use.
type Item interface {
	// Frames hands over the item's text frames in order, each until yield returns; it stops when yield
	// returns false. It runs in the writer goroutine and may read from disk. The bytes are copied before yield returns.
	Frames(yield func(frame []byte) bool)
	// Size is the item's weight in the queue, in bytes. It must not change while the item is queued.
	Size() int
	// Written is called once: with true after the operating system took every frame, with false when the socket
	// ended first. It must not block.
	Written(ok bool)
}

// Socket is one agent's connection. Send, Close and RemoteHost may be called from any goroutine.
type Socket struct {
	opts Options
	host string
	ws   *websocket.Conn
	cork *cork

	wg   sync.WaitGroup  // writer, closer, pings
	over context.Context // ended when the WebSocket has ended and the writer must do its last flush
	end  context.CancelFunc

	taken []Item // the writer's: items whose frames are in the cork or on their way there

	mu       sync.Mutex
	queue    []Item
	count    int // items queued or taken and not yet written out
	bytes    int
	closing  bool        // no more items are taken
	drop     bool        // queued items are not written any more
	ended    bool        // Run has stopped reading: start no ping and no timer
	reason   wire.Reason // why the socket ends; set once, with closing or at the end of reading
	hard     *time.Timer // cuts the connection CloseWait after Close
	ping     *time.Timer
	handling bool // onMessage is running
	handled  uint64
}

// Upgrade answers the request with a WebSocket handshake, without compression and without a subprotocol. After an error
// the answer has been written. The caller checks the request before (CheckRequest) and must Run the socket after.
func Upgrade(w http.ResponseWriter, r *http.Request, o Options) (*Socket, error) {
	s := &Socket{opts: o.withDefaults(), host: hostName(r.RemoteAddr)}
	s.over, s.end = context.WithCancel(context.Background())
	h := &corkedHijacker{ResponseWriter: w}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // CheckRequest has its own list
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     s.answersPing,
	})
	if err != nil {
		if h.cork != nil {
			h.cork.abort()
		}
		return nil, err
	}
	ws.SetReadLimit(-1) // the reader counts by itself, to close with our own text
	s.ws, s.cork = ws, h.cork
	return s, nil
}

// RemoteHost is the peer's address without the port.
func (s *Socket) RemoteHost() string { return s.host }

// Run reads messages, text or binary, and hands each to onMessage, which owns the bytes and whose blocking stops the
// reading (nothing else). It writes what Send queues, and pings. It returns when all this has ended, and says why:
// the reason given to Close, slow_reader, write_failed, ping_timeout, message_too_large, client_closed (the peer sent a
// close frame) or connection_lost. An error from onMessage closes with internal_error, the end of ctx with hub_shutdown, unless Close
// was called before. Nothing is handed to onMessage after Close. Run must be called exactly once.
func (s *Socket) Run(ctx context.Context, onMessage func([]byte) error) wire.Reason {
	stop := s.closeWith(ctx)
	s.wg.Go(s.writeLoop)
	s.startPing()
	s.endReading(s.readLoop(onMessage))
	s.wg.Wait()
	stop()
	s.stopTimers()
	_ = s.ws.CloseNow() // gives the library's memory back
	_ = s.cork.Conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// closeWith closes the socket when ctx ends. The returned function undoes this and waits for a close in progress.
func (s *Socket) closeWith(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	undo := context.AfterFunc(ctx, func() {
		defer close(done)
		s.Close(wire.ReasonHubShutdown)
	})
	return func() {
		if !undo() {
			<-done
		}
	}
}

// Send queues it without blocking and says whether it was taken; of an item not taken, Written is never called. A
// full queue closes the socket with slow_reader.
func (s *Socket) Send(it Item) bool {
	n := it.Size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	if s.count > 0 && (s.count >= s.opts.QueueCount || s.bytes+n > s.opts.QueueBytes) {
		s.closeLocked(wire.ReasonSlowReader)
		return false
	}
	s.queue = append(s.queue, it)
	s.count++
	s.bytes += n
	if len(s.queue) == 1 {
		s.cork.kick()
	}
	return true
}

// Close ends the socket: no further message is handed over and no item taken; what is queued is written, then the close
// frame of wire.CloseOf(reason), within CloseWait. After slow_reader and ping_timeout the queue is dropped, since the
// peer does not take it. It does not block and only the first call counts.
func (s *Socket) Close(reason wire.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked(reason)
}

func (s *Socket) closeLocked(reason wire.Reason) {
	if s.closing {
		return
	}
	s.closing = true
	if s.reason == "" {
		s.reason = reason
	}
	s.drop = reason == wire.ReasonSlowReader || reason == wire.ReasonPingTimeout
	wait := s.opts.CloseWait
	if reason == wire.ReasonPingTimeout {
		wait = min(wait, deadWait)
	}
	if !s.ended {
		s.hard = time.AfterFunc(wait, s.cork.abort)
	}
	s.cork.kick()
}

// deadWait is what a peer that did not answer a ping gets for its close frame.
const deadWait = time.Second

// endReading is called when nothing more will be read here. lost says that the WebSocket has ended; if not,
// the socket is closing and the closer reads on, up to the peer's close frame.
func (s *Socket) endReading(why wire.Reason, lost bool) {
	s.mu.Lock()
	s.ended = true
	if lost {
		s.closing, s.drop = true, true
	}
	s.mu.Unlock()
	if lost {
		s.setReason(why)
		s.finish()
	}
}

// setReason keeps the first reason.
func (s *Socket) setReason(why wire.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == "" {
		s.reason = why
	}
}

// finish makes the writer flush once more, within a second, and end; it ends a ping that waits.
func (s *Socket) finish() {
	s.cork.bound(time.Now().Add(deadWait))
	s.end()
}

// stopTimers is called last: nothing can arm one any more.
func (s *Socket) stopTimers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range []*time.Timer{s.hard, s.ping} {
		if t != nil {
			t.Stop()
		}
	}
}

// closeFrame is the code and text of the close frame for a reason.
func closeFrame(reason wire.Reason) (websocket.StatusCode, string) {
	if c, ok := wire.CloseOf(reason); ok {
		return websocket.StatusCode(c.Code), c.Text
	}
	if reason == "" || reason == wire.ReasonClientClosed {
		return websocket.StatusNormalClosure, ""
	}
	return websocket.StatusInternalError, string(reason)
}

// answersPing leaves out pongs while the peer does not read them.
func (s *Socket) answersPing(context.Context, []byte) bool {
	return s.cork.size() < controlBytes
}

var _ net.Conn = (*cork)(nil)
