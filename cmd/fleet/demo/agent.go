package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fleetrelay/hub/client"
	"fleetrelay/testenv/clientlog"
	"fleetrelay/testenv/cluster"
)

// agent is one application above hub/client, which writes down in its own log what it sent, was told and received. The
// log outlives its connections and the agent's absences.
type agent struct {
	seat string
	node *cluster.Node
	log  *clientlog.Writer
	book *clientlog.Observer

	mu       sync.Mutex
	client   *client.Client // nil while away
	cursor   client.Cursor
	has      map[string]bool             // received, by sender and client_msg_id
	receipts map[string][]client.Receipt // told, by the client_msg_id of the message
	accepted int
}

func newAgent(dir string, n *cluster.Node, seat string) (*agent, error) {
	log, err := clientlog.Create(dir, seat+"@"+n.Hub)
	if err != nil {
		return nil, err
	}
	return &agent{seat: seat, node: n, log: log, book: clientlog.Observe(log, seat, n.Hub), has: map[string]bool{}, receipts: map[string][]client.Receipt{}}, nil
}

// name is how other hubs speak of the agent.
func (a *agent) name() string { return a.seat + "@" + a.node.Hub }

// join connects and registers; the client reconnects by itself when the node dies.
func (a *agent) join(ctx context.Context) error {
	a.mu.Lock()
	since := a.cursor
	a.mu.Unlock()
	o := client.Options{
		URL: "ws://" + a.node.Agents, Name: a.seat, Mailbox: true, SinceSeq: since.Seq, SinceHub: since.HubID,
		MaxOutstanding: outstanding, MinBackoff: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
	}
	a.book.Attach(&o, a.take, a.other)
	c, err := client.Dial(ctx, o)
	if err != nil {
		return fmt.Errorf("%s: %w", a.name(), err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = c
	return nil
}

// take is the application.
func (a *agent) take(c client.Chat) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.has[c.Sender+" "+c.ClientMsgID] = true
}

func (a *agent) other(ev client.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch ev := ev.(type) {
	case client.Accepted:
		a.accepted++
	case client.Receipt:
		a.receipts[ev.ClientMsgID] = append(a.receipts[ev.ClientMsgID], ev)
	}
}

// leave disconnects; what comes meanwhile waits in the mailbox. It may be called twice.
func (a *agent) leave() error {
	a.mu.Lock()
	c := a.client
	a.client = nil
	a.mu.Unlock()
	if c == nil {
		return nil
	}
	err := c.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cursor = c.Cursor()
	return errors.Join(err, a.book.Err())
}

// send hands one message to the client, which sends it until it is accepted.
func (a *agent) send(ctx context.Context, m client.Message) error {
	a.mu.Lock()
	c := a.client
	a.mu.Unlock()
	if c == nil {
		return errors.New(a.name() + " is away")
	}
	_, err := c.Send(ctx, m)
	return err
}

// received returns nil once the application has that message.
func (a *agent) received(sender, id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.has[sender+" "+id] {
		return errNotYet
	}
	return nil
}

// told returns the first receipt of a message that is as wanted; errNotYet while there is none.
func (a *agent) told(id string, wanted func(client.Receipt) bool) (client.Receipt, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.receipts[id], wanted)
	if at < 0 {
		return client.Receipt{}, errNotYet
	}
	return a.receipts[id][at], nil
}

func (a *agent) counts() (accepted, got int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.accepted, len(a.has)
}

// shorten keeps a line of the timeline on one line.
func shorten(s string) string {
	const most = 64
	s = strings.ReplaceAll(s, "\n", " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
