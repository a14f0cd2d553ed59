package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fleetrelay/hub/client"
	"fleetrelay/testenv/clientlog"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/process"
)

// project is the one project all seats of the run belong to.
const project = "crash"

// counters are shared by all applications of one run.
type counters struct {
	accepted, delivered atomic.Int64
	lastUS              atomic.Int64 // when something was accepted or delivered last
}

func (c *counters) count(n *atomic.Int64) {
	n.Add(1)
	c.lastUS.Store(time.Now().UnixMicro())
}

// app is one application: a seat, its log, and its client while it is online.
type app struct {
	node  *cluster.Node
	seat  string
	log   *clientlog.Writer
	watch *clientlog.Observer
	total *counters

	mu     sync.Mutex
	client *client.Client // nil while offline
	cursor client.Cursor
}

func newApp(o *Options, n *cluster.Node, seat string, total *counters) (*app, error) {
	log, err := clientlog.Create(filepath.Join(o.Dir, clientsDir), seat+"@"+n.Hub)
	if err != nil {
		return nil, err
	}
	return &app{node: n, seat: seat, log: log, watch: clientlog.Observe(log, seat, n.Hub), total: total}, nil
}

// clientsDir holds the applications' logs.
const clientsDir = "clients"

// join makes the application online, as often as it takes while its node is down. It must be offline.
func (a *app) join(ctx context.Context) error {
	o := client.Options{
		URL: "ws://" + a.node.Agents, Name: a.seat, Mailbox: true, SinceSeq: a.cursor.Seq, SinceHub: a.cursor.HubID,
		MaxOutstanding: window, MinBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
	}
	a.watch.Attach(&o, func(client.Chat) { a.total.count(&a.total.delivered) }, a.other)
	var c *client.Client
	err := process.Poll(ctx, func() (err error) {
		c, err = client.Dial(ctx, o)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s@%s does not get online: %w", a.seat, a.node.Hub, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = c
	return nil
}

func (a *app) other(ev client.Event) {
	if _, ok := ev.(client.Accepted); ok {
		a.total.count(&a.total.accepted)
	}
}

// leave makes the application offline. It does nothing when it is.
func (a *app) leave() error {
	a.mu.Lock()
	c := a.client
	a.client = nil
	a.mu.Unlock()
	if c == nil {
		return nil
	}
	err := c.Close()
	a.cursor = c.Cursor()
	return errors.Join(err, a.watch.Err())
}

func (a *app) online() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client != nil
}

func (a *app) close() error { return errors.Join(a.leave(), a.log.Close()) }

// window is how many messages of one sender may be without an answer.
const window = 16

// send sends n messages to the partner's seat on the other hub and, beside every tenth, one to the same seat on its own
// hub; it returns when each was accepted or has failed.
func (a *app) send(ctx context.Context, rng *rand.Rand, n int, seat string, far *cluster.Node) error {
	for i := range n {
		if err := a.sendOne(ctx, rng, seat+"@"+far.Hub, fmt.Sprintf("far-%d", i)); err != nil {
			return err
		}
		if i%localEvery != 0 {
			continue
		}
		if err := a.sendOne(ctx, rng, seat, fmt.Sprintf("near-%d", i)); err != nil {
			return err
		}
	}
	return a.client.Drain(ctx)
}

// localEvery is how many messages cross for each one that stays.
const localEvery = 10

// perSender is how many messages send sends in all.
func perSender(n int) int { return n + (n+localEvery-1)/localEvery }

func (a *app) sendOne(ctx context.Context, rng *rand.Rand, to, id string) error {
	text := id + " " + strings.Repeat("payload ", rng.IntN(50))
	_, err := a.client.Send(ctx, client.Message{To: to, Text: text, ClientMsgID: id, ReceiptRequested: rng.IntN(8) == 0})
	if err != nil {
		return fmt.Errorf("%s@%s: send: %w", a.seat, a.node.Hub, err)
	}
	return nil
}
