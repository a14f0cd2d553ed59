// Package app is one application in a run on real nodes: a seat with hub/client, a log that the checker judges by, and
// counters that the run's driver looks at. An application may leave and come back; it resumes where it was, and a little before. It owns no verdict.
package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fleetrelay/hub/client"
	"fleetrelay/testenv/clientlog"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/process"
)

// Counts are shared by all applications of one run.
type Counts struct {
	Accepted, Delivered atomic.Int64
	// Owed is how many messages were sent that ask for a receipt and whose senders were not told their outcome.
	Owed   atomic.Int64
	lastUS atomic.Int64
}

// Touch notes that something has happened.
func (c *Counts) Touch() { c.lastUS.Store(time.Now().UnixMicro()) }

// Quiet is how long nothing has happened.
func (c *Counts) Quiet() time.Duration { return time.Since(time.UnixMicro(c.lastUS.Load())) }

func (c *Counts) count(n *atomic.Int64) {
	n.Add(1)
	c.Touch()
}

// Window is how many messages of one application may be without an answer of its hub.
const Window = 16

// App is one application. Its methods are for one goroutine, but Online.
type App struct {
	Node   *cluster.Node
	Seat   string
	log    *clientlog.Writer
	watch  *clientlog.Observer
	counts *Counts

	mu     sync.Mutex
	client *client.Client // nil while offline
	// cursor is where the next life resumes: where the life before it began. A kill may have taken the acknowledgements
	// that the last life left behind, which no hub confirms; what is replayed is acknowledged again.
	cursor, ended client.Cursor
	owed          map[string]bool // client message ids whose outcome is awaited
}

// New makes an application of a node, offline. Its log goes into the folder logs.
func New(n *cluster.Node, seat, logs string, counts *Counts) (*App, error) {
	log, err := clientlog.Create(logs, seat+"@"+n.Hub)
	if err != nil {
		return nil, err
	}
	return &App{Node: n, Seat: seat, log: log, watch: clientlog.Observe(log, seat, n.Hub), counts: counts, owed: map[string]bool{}}, nil
}

// Address is the seat as other hubs address it.
func (a *App) Address() string { return a.Seat + "@" + a.Node.Hub }

// Join makes the application online, as often as it takes while its node is down. It must be offline.
func (a *App) Join(ctx context.Context) error {
	o := client.Options{
		URL: "ws://" + a.Node.Agents, Name: a.Seat, Mailbox: true, SinceSeq: a.cursor.Seq, SinceHub: a.cursor.HubID,
		MaxOutstanding: Window, MinBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
	}
	a.watch.Attach(&o, func(client.Chat) { a.counts.count(&a.counts.Delivered) }, a.other)
	var c *client.Client
	err := process.Poll(ctx, func() (err error) {
		c, err = client.Dial(ctx, o)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s does not get online: %w", a.Address(), err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = c
	return nil
}

func (a *App) other(ev client.Event) {
	switch ev := ev.(type) {
	case client.Accepted:
		a.counts.count(&a.counts.Accepted)
	case client.Receipt:
		a.counts.Touch()
		if ev.Delivered || ev.Expired {
			a.settled(ev.ClientMsgID)
		}
	case client.ErrorFrame:
		a.settled(ev.ClientMsgID)
	}
}

// settled notes that the outcome of a message was told.
func (a *App) settled(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owed[id] {
		delete(a.owed, id)
		a.counts.Owed.Add(-1)
	}
}

// awaits notes that the outcome of a message is awaited.
func (a *App) awaits(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owed[id] = true
	a.counts.Owed.Add(1)
}

// Leave makes the application offline. It does nothing when it is.
func (a *App) Leave() error {
	a.mu.Lock()
	c := a.client
	a.client = nil
	a.mu.Unlock()
	if c == nil {
		return nil
	}
	err := c.Close()
	a.cursor, a.ended = a.ended, c.Cursor()
	return errors.Join(err, a.watch.Err())
}

// Online says whether the application is.
func (a *App) Online() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client != nil
}

// Close ends the application and its log.
func (a *App) Close() error { return errors.Join(a.Leave(), a.log.Close()) }

// Send hands over one message, which has an id of its own. It blocks while Window of them are without an answer.
func (a *App) Send(ctx context.Context, m client.Message) error {
	if m.ReceiptRequested {
		a.awaits(m.ClientMsgID)
	}
	if _, err := a.client.Send(ctx, m); err != nil {
		return fmt.Errorf("%s: send: %w", a.Address(), err)
	}
	return nil
}

// Drain waits until every message was accepted or has failed.
func (a *App) Drain(ctx context.Context) error { return a.client.Drain(ctx) }
