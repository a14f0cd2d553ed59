package client

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"fleetrelay/hub/wire"
)

// ackMemory is how many acknowledgements are repeated on a new connection: more than a burst leaves on its way into a
// journal, so that a hub that dies then still learns what was taken.
const ackMemory = 4096

// Cursor is a position in one hub's sequence.
type Cursor struct {
	HubID wire.HubID
	Seq   uint64
}

// Stats counts what a client did since it began.
type Stats struct {
	Connections uint64 // made
	Resent      uint64 // messages written again on a later connection
	Duplicates  uint64 // chats and receipts suppressed as repeats
}

// Client is one registered name. Its methods may be called from any goroutine, except as Options.OnEvent says.
type Client struct {
	opts Options
	ctx  context.Context // ended by Stop
	stop context.CancelFunc
	done chan struct{} // closed when run has returned
	wake chan struct{} // cap 1: the writer has something to do

	// Owned by run's goroutine.
	chats    *window[idKey]
	seqs     *window[seqKey]
	receipts *window[string]
	target   lastTarget
	final    Closed // why the client ended; readable after done

	mu      sync.Mutex
	ids     *ulid.MonotonicEntropy
	box     outbox
	moved   chan struct{} // closed and replaced when something awaited may have changed
	waiting int           // goroutines in await since then
	link    *link         // the connection, nil while there is none
	gen     uint64        // number of the connection
	cursor  Cursor
	acks    []uint64 // recently acknowledged, oldest first
	asks    map[wire.FrameType][]chan Event
	stats   Stats
	ended   bool
}

type idKey struct{ sender, id string }

// seqKey names one accepted chat. The sender and its id stand beside the number, because a hub whose journal was put back
// gives numbers twice: what is new under an old number is not a repeat.
type seqKey struct {
	hub wire.HubID
	seq uint64
	idKey
}

// Dial connects and registers the name. It returns when the registration is known to have worked, or with the error of this
// first attempt: a *ClosedError when the hub refused. From then on the client reconnects by itself; ctx counts only for
// Dial. The caller must Close the client.
func Dial(ctx context.Context, o Options) (*Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{
		opts: o, done: make(chan struct{}), wake: make(chan struct{}, 1), moved: make(chan struct{}),
		chats: newWindow[idKey](o.Window), seqs: newWindow[seqKey](o.Window), receipts: newWindow[string](o.Window),
		ids: ulid.Monotonic(rand.Reader, 0), cursor: Cursor{o.SinceHub, o.SinceSeq},
		asks: map[wire.FrameType][]chan Event{}, box: outbox{byID: map[string]*entry{}},
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	bound := make(chan struct{})
	go c.run(bound)
	select {
	case <-bound:
		return c, nil
	case <-c.done:
		return nil, &ClosedError{c.final}
	case <-ctx.Done():
		c.stop()
		<-c.done
		return nil, ctx.Err()
	}
}

// Stop begins to end the client and does not wait; what is queued for writing still goes out. It may be called from OnEvent.
func (c *Client) Stop() { c.stop() }

// Close ends the client and waits until all it started has ended. Messages still outstanding fail with ErrClosed. Calling
// it again is fine.
func (c *Client) Close() error {
	c.stop()
	<-c.done
	return nil
}

// Done is closed when the client has ended, by Close or because it yielded.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the client ended: nil while it lives, ErrClosed after Close, else a *ClosedError.
func (c *Client) Err() error {
	select {
	case <-c.done:
	default:
		return nil
	}
	if !c.final.Yield {
		return ErrClosed
	}
	return &ClosedError{c.final}
}

// Cursor is the highest position taken, to be given to a later client as SinceHub and SinceSeq.
func (c *Client) Cursor() Cursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cursor
}

// Stats returns the counts so far.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Ack acknowledges the directed chat of that sequence number; the hub does not answer. It is for ManualAck.
func (c *Client) Ack(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ackLocked(seq)
}

// Who asks who is online. It fails with ErrClosed, also when just this connection ends.
func (c *Client) Who(ctx context.Context) (WhoSnapshot, error) {
	return ask[WhoSnapshot](ctx, c, wire.TypeWhoRequest, wire.TypeWhoSnapshot)
}

// State asks for the hub's state snapshot. It fails like Who.
func (c *Client) State(ctx context.Context) (StateSnapshot, error) {
	return ask[StateSnapshot](ctx, c, wire.TypeStateRequest, wire.TypeStateSnapshot)
}

func ask[T Event](ctx context.Context, c *Client, request, answer wire.FrameType) (T, error) {
	var zero T
	ch := make(chan Event, 1)
	err := c.await(ctx, func() bool {
		if c.link == nil || !c.link.ready {
			return false
		}
		c.asks[answer] = append(c.asks[answer], ch)
		c.link.controlLocked(append(c.opts.control(request, "", c.now()), '}'))
		return true
	})
	if err != nil {
		return zero, err
	}
	c.kick()
	select {
	case ev, ok := <-ch:
		if !ok {
			return zero, ErrClosed
		}
		return ev.(T), nil
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}

// await returns when ok, called under mu, says true; with an error when ctx or the client ends first.
func (c *Client) await(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		if c.ended {
			c.mu.Unlock()
			return ErrClosed
		}
		if ok() {
			c.mu.Unlock()
			return nil
		}
		c.waiting++
		moved := c.moved
		c.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// movedLocked lets every await look again.
func (c *Client) movedLocked() {
	if c.waiting > 0 {
		close(c.moved)
		c.moved = make(chan struct{})
		c.waiting = 0
	}
}

func (c *Client) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Client) now() time.Time { return time.Now() }

// newID is a fresh retry id, rising within this client.
func (c *Client) newID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := ulid.New(ulid.Timestamp(c.now()), c.ids)
	if err != nil { // 2^80 ids in one millisecond, or a clock beyond the year 10889
		c.ids = ulid.Monotonic(rand.Reader, 0)
		id = ulid.MustNew(ulid.Timestamp(c.now()), c.ids)
	}
	return id.String()
}
