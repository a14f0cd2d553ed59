package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// steadyAfter is how long a registered connection must have lived for the next pause to be the shortest again.
const steadyAfter = time.Second

// closeWait bounds the last writes and the closing handshake after Stop.
const closeWait = 5 * time.Second

// maxControl bounds the control frames that wait, mostly acknowledgements: reading stops at that many.
const maxControl = 4096

// link is one connection.
type link struct {
	ws     *websocket.Conn
	conn   *corked
	gen    uint64
	began  time.Time
	ctx    context.Context // ended with the connection
	end    context.CancelFunc
	wg     sync.WaitGroup // writer, ping
	busy   atomic.Bool    // the application is handling an event
	asking atomic.Bool    // a ping is under way
	lost   atomic.Bool    // the ping found no life

	// Owned by run's goroutine.
	bound    bool
	protocol int64

	// Guarded by Client.mu.
	ready   bool       // the registration is queued, so messages may follow
	control []outgoing // frames that go before messages
}

// outgoing is a frame and what a recorder sees of it, nil meaning the frame.
type outgoing struct{ frame, shown []byte }

func (l *link) controlLocked(frame []byte) { l.control = append(l.control, outgoing{frame: frame}) }

// run connects again and again until the client is stopped or yields. All events are told from here.
func (c *Client) run(bound chan struct{}) {
	defer close(c.done)
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = c.opts.MinBackoff, c.opts.MaxBackoff
	pause.Reset()
	var once sync.Once
	dialled := false
	for {
		end, steady := c.session(func() { dialled = true; once.Do(func() { close(bound) }) })
		switch {
		case c.ctx.Err() != nil:
			end = Closed{Reason: wire.ReasonClientClosed}
		case !dialled:
			end.Yield = true
		}
		c.emit(end)
		if end.Yield || c.ctx.Err() != nil {
			c.finish(end)
			return
		}
		if steady {
			pause.Reset()
		}
		c.sleep(pause.NextBackOff())
	}
}

func (c *Client) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
}

// finish fails what is outstanding. Nothing is queued after it.
func (c *Client) finish(end Closed) {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.final = end
	c.ended = true
	c.box.failAll(ErrClosed)
	c.movedLocked()
}

// session makes one connection and stays with it to its end. steady says that it was a good one.
func (c *Client) session(bound func()) (end Closed, steady bool) {
	l, closed := c.connect()
	if l == nil {
		return closed, false
	}
	defer context.AfterFunc(c.ctx, func() { l.conn.bound(time.Now().Add(closeWait)) })()
	l.wg.Go(func() { c.writer(l) })
	end = c.reader(l, bound)
	if c.ctx.Err() == nil {
		_ = l.ws.CloseNow() // frees a writer that is held up
	}
	l.end()
	l.wg.Wait()
	_ = l.ws.CloseNow()
	c.detach()
	return end, l.bound && time.Since(l.began) >= steadyAfter
}

// connect dials and makes the connection current.
func (c *Client) connect() (*link, Closed) {
	ctx, cancel := context.WithTimeout(c.ctx, c.opts.DialTimeout)
	defer cancel()
	var conn *corked
	tr := &http.Transport{TLSClientConfig: c.opts.TLS, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := c.opts.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conn = &corked{Conn: raw, wake: c.kick, timeout: c.opts.WriteTimeout, direct: true}
		return conn, nil
	}}
	defer tr.CloseIdleConnections()
	ws, resp, err := websocket.Dial(ctx, c.opts.URL, &websocket.DialOptions{HTTPClient: &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
	if err != nil {
		return nil, Closed{Reason: refusal(resp), Err: err}
	}
	ws.SetReadLimit(c.opts.ReadLimit)
	conn.setDirect(false)
	return c.attach(ws, conn), Closed{}
}

func refusal(resp *http.Response) wire.Reason {
	if resp != nil && resp.StatusCode == http.StatusForbidden {
		return wire.ReasonHostNotAllowed
	}
	return wire.ReasonConnectionLost
}

func (c *Client) attach(ws *websocket.Conn, conn *corked) *link {
	l := &link{ws: ws, conn: conn, began: time.Now(), protocol: 1}
	l.ctx, l.end = context.WithCancel(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	c.stats.Connections++
	l.gen = c.gen
	c.link = l
	c.box.rewind()
	if c.opts.Token != "" {
		c.registerLocked(l) // a secured hub says nothing before
	}
	return l
}

// registerLocked queues the registration, the first frame of a connection.
func (c *Client) registerLocked(l *link) {
	if l.ready {
		return
	}
	l.ready = true
	l.control = append(l.control, outgoing{
		frame: c.opts.registration(c.cursor.Seq, c.now(), true), shown: c.opts.registration(c.cursor.Seq, c.now(), false),
	})
	if c.opts.Takeover { // a takeover is announced to nobody: an answer shows that it worked
		c.asks[wire.TypeWhoSnapshot] = append(c.asks[wire.TypeWhoSnapshot], make(chan Event, 1))
		l.controlLocked(append(c.opts.control(wire.TypeWhoRequest, "", c.now()), '}'))
	}
	c.movedLocked()
	c.kick()
}

// detach forgets the connection and fails what was asked over it.
func (c *Client) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = nil
	for t, waiting := range c.asks {
		for _, ch := range waiting {
			close(ch)
		}
		delete(c.asks, t)
	}
}

// writer writes what is due, keeps the connection alive, and closes it when the client stops.
func (c *Client) writer(l *link) {
	defer l.end()
	tick := time.NewTicker(c.opts.Heartbeat)
	defer tick.Stop()
	for {
		if c.writeDue(l) != nil {
			_ = l.ws.CloseNow()
			return
		}
		select {
		case <-c.wake:
		case <-tick.C:
			c.heartbeat(l)
		case <-l.ctx.Done():
			return
		case <-c.ctx.Done():
			_ = c.writeDue(l)
			l.conn.setDirect(true)
			_ = l.ws.Close(websocket.StatusNormalClosure, "")
			return
		}
	}
}

// writeDue writes control frames and messages until nothing is due, and everything out to the network.
func (c *Client) writeDue(l *link) error {
	var batch []*entry
	for {
		control, entries := c.due(l, batch[:0])
		for _, out := range control {
			if err := c.writeFrame(l, out); err != nil {
				return err
			}
		}
		for _, e := range entries {
			if err := c.writeFrame(l, outgoing{frame: e.frame}); err != nil {
				return err
			}
		}
		if err := l.conn.flush(); err != nil {
			return err
		}
		c.markOut(entries)
		if len(control)+len(entries) == 0 {
			return nil
		}
		batch = entries
	}
}

// due takes the control frames and a run of messages of at most about flushBytes.
func (c *Client) due(l *link, batch []*entry) (control []outgoing, entries []*entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if control, l.control = l.control, nil; len(control) >= maxControl {
		c.movedLocked()
	}
	for n := 0; l.ready && n < flushBytes; {
		e := c.box.due()
		if e == nil {
			break
		}
		if e.gen != 0 {
			c.stats.Resent++
		}
		e.gen = l.gen
		n += len(e.frame)
		batch = append(batch, e)
	}
	return control, batch
}

func (c *Client) markOut(entries []*entry) {
	if len(entries) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range entries {
		e.out = true
	}
	c.movedLocked()
}

func (c *Client) writeFrame(l *link, out outgoing) error {
	if c.opts.Recorder != nil {
		shown := out.shown
		if shown == nil {
			shown = out.frame
		}
		c.opts.Recorder.OnSent(shown)
	}
	return l.ws.Write(context.Background(), websocket.MessageText, out.frame)
}

// heartbeat queues a keepalive and pings the hub, unless a ping is under way.
func (c *Client) heartbeat(l *link) {
	c.mu.Lock()
	if l.ready {
		l.controlLocked(append(c.opts.control(wire.TypeHeartbeat, "alive", c.now()), '}'))
	}
	c.mu.Unlock()
	c.kick()
	if l.asking.CompareAndSwap(false, true) {
		l.wg.Go(func() { c.ping(l) })
	}
}

// ping cuts a connection on which nothing arrives within PongWait, unless the application is what holds up reading.
func (c *Client) ping(l *link) {
	defer l.asking.Store(false)
	ctx, cancel := context.WithTimeout(l.ctx, c.opts.PongWait)
	defer cancel()
	before := l.conn.read.Load()
	err := l.ws.Ping(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !l.busy.Load() && l.conn.read.Load() == before {
		l.lost.Store(true)
		_ = l.ws.CloseNow()
	}
}
