package skeleton

import (
	"context"
	"net/http"

	"github.com/coder/websocket"

	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// outlet is one agent's WebSocket as the pipeline needs it.
type outlet interface {
	// send queues one frame; a frame that does not fit ends the socket.
	send(frame []byte)
	// run hands over what the agent sends until the socket ends.
	run(ctx context.Context, take func(message []byte) error)
}

// upgrade makes the outlet of the settings: plain or batched.
func (h *hub) upgrade(w http.ResponseWriter, r *http.Request) (outlet, error) {
	if h.batched {
		sock, err := socket.Upgrade(w, r, socket.Options{QueueCount: queued, QueueBytes: 64 << 20})
		return batched{sock}, err
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(maxRecord)
	return &plain{ws: ws, queue: make(chan []byte, queued)}, nil
}

// batched is the product's own socket, whose writer sends what is ready in one system call.
type batched struct{ sock *socket.Socket }

func (b batched) send(frame []byte) { b.sock.Send(item(frame)) }

func (b batched) run(ctx context.Context, take func([]byte) error) { b.sock.Run(ctx, take) }

// item is one frame for a socket's queue.
type item []byte

func (f item) Frames(yield func([]byte) bool) { yield(f) }
func (f item) Size() int                      { return len(f) }
func (item) Written(bool)                     {}

// plain writes one message with each system call.
type plain struct {
	ws    *websocket.Conn
	queue chan []byte
}

func (p *plain) send(frame []byte) {
	select {
	case p.queue <- frame:
	default:
		go p.ws.Close(1013, string(wire.ReasonSlowReader)) // Close waits for the agent; the committer does not
	}
}

func (p *plain) run(ctx context.Context, take func([]byte) error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); p.write(ctx) }()
	defer func() { cancel(); p.ws.CloseNow(); <-done }()
	for {
		_, message, err := p.ws.Read(ctx)
		if err != nil || take(message) != nil {
			return
		}
	}
}

func (p *plain) write(ctx context.Context) {
	for {
		select {
		case frame := <-p.queue:
			if err := p.ws.Write(ctx, websocket.MessageText, frame); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
