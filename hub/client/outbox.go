package client

import (
	"context"
	"errors"
	"slices"

	"fleetrelay/hub/wire"
)

// Ends of a message other than being accepted.
var (
	// ErrUnanswered: the hub accepted a later message of the same connection and neither accepted nor refused this one.
	ErrUnanswered = errors.New("client: the hub passed the message over")
	// ErrNoJournal: the hub relayed the message and keeps no journal, so nothing was accepted.
	ErrNoJournal = errors.New("client: the hub keeps no journal")
	// ErrDuplicateID: a message with this ClientMsgID is still outstanding.
	ErrDuplicateID = errors.New("client: message id is outstanding already")
	// ErrNotSent: the message was never written to any connection and is not sent any more.
	ErrNotSent = errors.New("client: message was not sent")
	// ErrClosed: the client has ended. A message that was outstanding may have been accepted or not.
	ErrClosed = errors.New("client: closed")
)

// RefusedError is the hub's refusal of one message.
type RefusedError struct {
	Code wire.Reason // "" when the hub gave none
	Text string
}

// Error names the code.
func (e *RefusedError) Error() string { return "client: message refused: " + string(e.Code) }

// entry is one message until it is accepted or has failed. Its fields are guarded by Client.mu.
type entry struct {
	id     string
	frame  []byte
	gen    uint64        // connection it was last given to, 0 none
	out    bool          // written to some connection
	ended  bool          // resolved; the fields below are final
	done   chan struct{} // closed when ended; nil unless somebody waits for it
	result Accepted
	err    error
}

// outbox holds the messages not yet accepted in the order of Send. All methods need Client.mu.
type outbox struct {
	list  []*entry // from first on; ended entries may stand inside
	first int
	next  int // first entry not yet written on this connection
	byID  map[string]*entry
	bytes int
}

func (o *outbox) room(n int, opts *Options) bool {
	return len(o.byID) == 0 || len(o.byID) < opts.MaxOutstanding && o.bytes+n <= opts.MaxOutstandingBytes
}

func (o *outbox) add(e *entry) {
	o.list = append(o.list, e)
	o.byID[e.id] = e
	o.bytes += len(e.frame)
}

// rewind makes everything due again, for a new connection.
func (o *outbox) rewind() { o.next = o.first }

// due is the next message to write, nil when there is none.
func (o *outbox) due() *entry {
	for o.next < len(o.list) {
		e := o.list[o.next]
		o.next++
		if !e.ended {
			return e
		}
	}
	return nil
}

// end resolves e and forgets what is done at the front.
func (o *outbox) end(e *entry, result Accepted, err error) {
	if e.ended {
		return
	}
	e.ended, e.result, e.err = true, result, err
	delete(o.byID, e.id)
	o.bytes -= len(e.frame)
	e.frame = nil
	if e.done != nil {
		close(e.done)
	}
	for o.first < len(o.list) && o.list[o.first].ended {
		o.list[o.first] = nil
		o.first++
	}
	o.next = max(o.next, o.first)
	if o.first > 64 && o.first*2 >= len(o.list) {
		n := copy(o.list, o.list[o.first:])
		clear(o.list[n:])
		o.list = o.list[:n]
		o.next -= o.first
		o.first = 0
	}
}

// accept resolves the message with this id, and those before it that were written on the same connection: the hub handles
// a connection's frames in order, so it has passed them over.
func (o *outbox) accept(id string, result Accepted) {
	e := o.byID[id]
	if e == nil {
		return
	}
	// e is nearly always the first: then nothing is copied. end moves the list under a loop over it.
	for _, before := range slices.Clone(o.before(e)) {
		if before.gen == e.gen {
			o.end(before, Accepted{}, ErrUnanswered)
		}
	}
	o.end(e, result, nil)
}

func (o *outbox) before(e *entry) []*entry {
	list := o.list[o.first:]
	return list[:slices.Index(list, e)]
}

// refuse resolves the message with this id.
func (o *outbox) refuse(id string, err error) {
	if e := o.byID[id]; e != nil {
		o.end(e, Accepted{}, err)
	}
}

// failAll ends everything outstanding.
func (o *outbox) failAll(err error) {
	for _, e := range slices.Clone(o.list[o.first:]) {
		o.end(e, Accepted{}, err)
	}
}

// Send queues m, waits until it was written to a connection, and returns its id. It is then outstanding: sent again on
// later connections until accepted. It waits while too much is outstanding or no connection is up, as long as ctx lets it;
// when ctx ends first, the error matches ErrNotSent if the message can no longer go out, else it may.
func (c *Client) Send(ctx context.Context, m Message) (id string, err error) {
	e, err := c.enqueue(ctx, &m, false)
	if err != nil {
		return "", err
	}
	return e.id, c.written(ctx, e)
}

// SendBatch is Send for several messages, which leave together where there is room. It sets ClientMsgID in each that has none.
// After an error the messages from some point on were not sent; those with an id before it were queued.
func (c *Client) SendBatch(ctx context.Context, ms []Message) error {
	var last *entry
	for i := range ms {
		e, err := c.enqueue(ctx, &ms[i], false)
		if err != nil {
			return err
		}
		last = e
	}
	if last == nil {
		return nil
	}
	return c.written(ctx, last)
}

// SendAccepted sends m and waits until the hub has accepted it: our own copy came back with its sequence number, or a
// receipt. Errors are *RefusedError, ErrUnanswered, ErrNoJournal, ErrClosed, those of Send, or ctx's, after which the
// message stays outstanding.
func (c *Client) SendAccepted(ctx context.Context, m Message) (Accepted, error) {
	e, err := c.enqueue(ctx, &m, true)
	if err != nil {
		return Accepted{}, err
	}
	select {
	case <-e.done:
		return e.result, e.err
	case <-ctx.Done():
		return Accepted{ClientMsgID: e.id}, ctx.Err()
	}
}

// Drain waits until nothing is outstanding.
func (c *Client) Drain(ctx context.Context) error {
	return c.await(ctx, func() bool { return len(c.box.byID) == 0 })
}

// Outstanding is the number of messages not yet accepted.
func (c *Client) Outstanding() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.box.byID)
}

func (c *Client) enqueue(ctx context.Context, m *Message, wait bool) (*entry, error) {
	if m.ClientMsgID == "" {
		m.ClientMsgID = c.newID()
	}
	frame, err := m.build(c.opts.Name, c.now())
	if err != nil {
		return nil, err
	}
	e := &entry{id: m.ClientMsgID, frame: frame}
	if wait {
		e.done = make(chan struct{})
	}
	taken, duplicate := false, false
	err = c.await(ctx, func() bool {
		if duplicate = c.box.byID[e.id] != nil; duplicate {
			return true
		}
		if taken = c.box.room(len(frame), &c.opts); taken {
			c.box.add(e)
		}
		return taken
	})
	switch {
	case duplicate:
		return nil, ErrDuplicateID
	case !taken:
		return nil, errors.Join(ErrNotSent, err)
	}
	c.kick()
	return e, nil
}

// written waits until e was written, and takes it back if it was not and ctx has ended.
func (c *Client) written(ctx context.Context, e *entry) error {
	err := c.await(ctx, func() bool { return e.out || e.ended })
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.gen != 0 {
		return err
	}
	c.box.end(e, Accepted{}, ErrNotSent)
	c.movedLocked()
	return errors.Join(ErrNotSent, err)
}
