package player

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// maxInbound bounds what the hub may send in one message.
const maxInbound = 4 << 20

// queued is how many events of one connection may wait to be looked at; no captured file comes near.
const queued = 4096

// event is one thing a connection brought: a frame, or its end.
type event struct {
	frame []byte
	end   error
}

// conn is one client connection with a reader of its own.
type conn struct {
	label  string
	ws     *websocket.Conn
	events chan event
	done   chan struct{} // closed when the reader has ended
	sender string        // of the last frame sent
	bound  bool          // the hub answered with more than a welcome or a refusal
	silent bool          // the last frame sent got no answer yet
	closed bool
	asked  int // questions of settle
}

func dial(ctx context.Context, label, url string, client *http.Client) (*conn, error) {
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client})
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	ws.SetReadLimit(maxInbound)
	c := &conn{label: label, ws: ws, events: make(chan event, queued), done: make(chan struct{})}
	go c.read()
	return c, nil
}

// read ends when the connection does: its owner calls drop. A hub that sends more than the queue holds stops being read
// and fails the scenario, which never waits for that many.
func (c *conn) read() {
	defer close(c.done)
	for {
		_, frame, err := c.ws.Read(context.Background())
		select {
		case c.events <- event{frame: frame, end: err}:
		default:
			return
		}
		if err != nil {
			return
		}
	}
}

// next is the next event of the connection.
func (c *conn) next(ctx context.Context) (event, error) {
	select {
	case ev := <-c.events:
		return ev, nil
	case <-ctx.Done():
		return event{}, fmt.Errorf("nothing came: %w", ctx.Err())
	}
}

func (c *conn) send(ctx context.Context, kind websocket.MessageType, message []byte) error {
	c.silent = true
	if err := c.ws.Write(ctx, kind, message); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// expectFrame takes the next event, which must be a frame.
func (c *conn) expectFrame(ctx context.Context) ([]byte, error) {
	ev, err := c.next(ctx)
	if err != nil {
		return nil, err
	}
	if ev.end != nil {
		return nil, fmt.Errorf("the socket ended: %w", ev.end)
	}
	return ev.frame, nil
}

// expectClose takes the next event, which must be the hub's close frame.
func (c *conn) expectClose(ctx context.Context, want Close) error {
	ev, err := c.next(ctx)
	if err != nil {
		return err
	}
	if ev.end == nil {
		return fmt.Errorf("a frame came instead: %s", ev.frame)
	}
	c.closed = true
	var got websocket.CloseError
	if !errors.As(ev.end, &got) {
		return fmt.Errorf("the socket ended without a close frame: %w", ev.end)
	}
	if int(got.Code) != want.Code || (want.Reason != anyText && got.Reason != want.Reason) {
		return fmt.Errorf("closed with %d %q, want %d %q", got.Code, got.Reason, want.Code, want.Reason)
	}
	return nil
}

// close closes from the client's side.
func (c *conn) close(want Close) error {
	c.closed = true
	err := c.ws.Close(websocket.StatusCode(want.Code), want.Reason)
	<-c.done
	return c.nothingLeft(err)
}

// nothingLeft fails on a frame that nobody expected.
func (c *conn) nothingLeft(err error) error {
	for {
		select {
		case ev := <-c.events:
			if ev.end == nil {
				return fmt.Errorf("one frame too many: %s", ev.frame)
			}
		default:
			return err
		}
	}
}

// settle proves that everything sent on this connection is handled and that it brought nothing unexpected: the refusal
// of a verb that does not exist, and was never asked before, must be the very next frame. A connection that was not
// bound has nobody to ask: it is only looked at.
func (c *conn) settle(ctx context.Context) error {
	if c.closed || !c.bound {
		return c.nothingLeft(nil)
	}
	c.asked++
	verb := fmt.Sprintf("%s%d", settleVerb, c.asked)
	asking := map[string]string{"target": "System", "type": verb}
	if c.sender != "" { // without one the hub has invented the name
		asking["sender"] = c.sender
	}
	question, err := wire.Marshal(asking)
	if err != nil {
		return err
	}
	if err := c.send(ctx, websocket.MessageText, question); err != nil {
		return err
	}
	frame, err := c.expectFrame(ctx)
	if err != nil {
		return err
	}
	var got struct {
		Type    string `json:"type"`
		Payload any    `json:"payload"`
	}
	if err := wire.UnmarshalLax(frame, &got); err != nil {
		return err
	}
	if got.Type != string(wire.TypeError) || got.Payload != "Unknown message type '"+verb+"'." {
		return fmt.Errorf("one frame too many: %s", frame)
	}
	c.silent = false
	return nil
}

// settleVerb begins the verb that no hub knows.
const settleVerb = "settled_"

// drop ends the connection without ceremony and waits for its reader.
func (c *conn) drop() {
	c.ws.CloseNow()
	<-c.done
}
