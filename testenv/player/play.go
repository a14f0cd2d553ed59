package player

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/process"
)

// Running is a hub that a test started.
type Running struct {
	URL   string // ws:// or wss://
	Token string // of the seat Hub.TokenFor names
	// Terminate asks the hub to end as SIGTERM does. It may return before the hub has ended.
	Terminate func(ctx context.Context) error
	// Sockets counts the sockets that the hub has taken in; nil when that cannot be asked.
	Sockets func() int
	// Stop ends the hub, terminated or not, and releases everything.
	Stop func() error
}

// Options say how to play.
type Options struct {
	// Start starts a hub. The player stops it.
	Start func(ctx context.Context, want Hub) (*Running, error)
	// HTTP dials; nil is the default client. A wss URL needs one that trusts the hub's certificate.
	HTTP *http.Client
	// Patience bounds the wait for each expected event; 0 is 10 s.
	Patience time.Duration
}

// player is one scenario being played.
type player struct {
	o       Options
	s       *Scenario
	hub     *Running
	conns   map[string]*conn
	others  []*conn // those that never say anything
	last    *conn   // the connection that acted last
	matcher *matcher
}

// Play plays a scenario from its first entry to its last. The error names the entry, counted from 0, its connection, and
// the difference. Every hub and connection it made is gone when it returns.
func Play(ctx context.Context, s *Scenario, o Options) (err error) {
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	p := &player{o: o, s: s, conns: map[string]*conn{}, matcher: newMatcher()}
	defer func() {
		if stopErr := p.stop(); err == nil {
			err = stopErr
		}
	}()
	if err := p.start(ctx, s.Start); err != nil {
		return err
	}
	for i := range s.Entries {
		e := &s.Entries[i]
		if err := p.step(ctx, e); err != nil {
			return fmt.Errorf("%s: entry %d (%s %s): %w", s.Name, i, e.Dir, e.Conn, err)
		}
	}
	if err := p.settleAll(ctx); err != nil {
		return fmt.Errorf("%s: after the last entry: %w", s.Name, err)
	}
	return nil
}

func (p *player) start(ctx context.Context, want Hub) error {
	hub, err := p.o.Start(ctx, want)
	if err != nil {
		return fmt.Errorf("%s: start the hub: %w", p.s.Name, err)
	}
	p.hub = hub
	return nil
}

// stop ends the connections, then the hub.
func (p *player) stop() error {
	for label, c := range p.conns {
		c.drop()
		delete(p.conns, label)
	}
	for _, c := range p.others {
		c.drop()
	}
	p.others, p.last = nil, nil
	if p.hub == nil {
		return nil
	}
	hub := p.hub
	p.hub = nil
	return hub.Stop()
}

func (p *player) step(ctx context.Context, e *Entry) error {
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	if e.Note != "" {
		if e.Note == noteSIGTERM {
			return p.hub.Terminate(ctx)
		}
		return nil
	}
	c, err := p.conn(ctx, e.Conn)
	if err != nil {
		return err
	}
	if e.Dir == toClient {
		return p.expect(ctx, c, e)
	}
	return p.act(ctx, c, e)
}

// conn is the connection of this label, dialled when it is new.
func (p *player) conn(ctx context.Context, label string) (*conn, error) {
	if c := p.conns[label]; c != nil {
		return c, nil
	}
	if err := p.settleLast(ctx, nil); err != nil {
		return nil, err
	}
	if want, ok := p.s.Again[label]; ok {
		if err := p.replaceHub(ctx, want); err != nil {
			return nil, err
		}
	}
	if err := p.counted(ctx); err != nil {
		return nil, err
	}
	if p.s.Silent[label] {
		other, err := dial(ctx, "silent", p.hub.URL, p.o.HTTP)
		if err != nil {
			return nil, err
		}
		p.others = append(p.others, other)
		if err := p.counted(ctx); err != nil {
			return nil, err
		}
	}
	c, err := dial(ctx, label, p.hub.URL, p.o.HTTP)
	if err != nil {
		return nil, err
	}
	p.conns[label] = c
	return c, nil
}

// counted waits until the hub counts the sockets that are open here: it learns of the end of one, and takes in a silent
// one, a moment later than the client.
func (p *player) counted(ctx context.Context) error {
	if p.hub.Sockets == nil {
		return nil
	}
	open := len(p.others)
	for _, c := range p.conns {
		if !c.closed {
			open++
		}
	}
	return process.Poll(ctx, func() error {
		if n := p.hub.Sockets(); n != open {
			return fmt.Errorf("the hub counts %d sockets, %d are open", n, open)
		}
		return nil
	})
}

func (p *player) replaceHub(ctx context.Context, want Hub) error {
	if err := p.settleAll(ctx); err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	return p.start(ctx, want)
}

func (p *player) expect(ctx context.Context, c *conn, e *Entry) error {
	c.silent = false
	if e.Close != nil {
		return c.expectClose(ctx, *e.Close)
	}
	frame, err := c.expectFrame(ctx)
	if err != nil {
		return fmt.Errorf("%w; wanted %s", err, e.Frame)
	}
	if err := p.matcher.frame(e.Frame, frame); err != nil {
		return fmt.Errorf("%w\ncame   %s\nwanted %s", err, frame, e.Frame)
	}
	c.bound = c.bound || binds(e.Frame)
	return nil
}

// binds says whether this frame goes to bound connections only.
func binds(frame []byte) bool {
	var head struct {
		Type string `json:"type"`
	}
	if err := wire.UnmarshalLax(frame, &head); err != nil {
		return false
	}
	switch wire.FrameType(head.Type) {
	case wire.TypeWelcome, wire.TypeError, wire.TypeNameConflict, wire.TypeAuthDenied:
		return false
	}
	return true
}

func (p *player) act(ctx context.Context, c *conn, e *Entry) error {
	if err := p.settleLast(ctx, c); err != nil {
		return err
	}
	p.last = c
	if e.Close != nil {
		return c.close(*e.Close)
	}
	if e.Raw != "" {
		kind, message := expand(e.Raw, c.sender)
		return c.send(ctx, kind, message)
	}
	frame, err := p.matcher.outgoing(e.Frame, p.hub.Token)
	if err != nil {
		return err
	}
	c.remember(frame)
	return c.send(ctx, websocket.MessageText, frame)
}

// remember keeps the name under which the connection speaks.
func (c *conn) remember(frame []byte) {
	var head struct {
		Sender any `json:"sender"`
	}
	if err := wire.UnmarshalLax(frame, &head); err != nil {
		return
	}
	if name, ok := head.Sender.(string); ok && !c.bound {
		c.sender = name
	}
}

// settleLast lets the hub handle what the last actor sent without an answer, before another one acts.
func (p *player) settleLast(ctx context.Context, next *conn) error {
	if p.last == nil || p.last == next || !p.last.silent || p.last.closed || !p.last.bound {
		return nil
	}
	if err := p.last.settle(ctx); err != nil {
		return fmt.Errorf("%s: %w", p.last.label, err)
	}
	return nil
}

// settleAll finds frames too many on every connection.
func (p *player) settleAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	for label, c := range p.conns {
		if err := c.settle(ctx); err != nil {
			return fmt.Errorf("%s: %w", label, err)
		}
	}
	return nil
}
