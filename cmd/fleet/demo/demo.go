package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"fleetrelay/hub/client"
	"fleetrelay/hub/wire"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/process"
)

// Bounds of the story. Every wait has a deadline; an unmet one leaves the verdict to the checker.
const (
	kills       = 2
	beforeKill  = 250             // deliveries of traffic before each kill
	whileDown   = 60              // acceptances on the surviving side while the other is down
	awayLetters = 5               // messages for the recipient that is away
	patience    = 8 * time.Second // for a condition that is met within a second in a good run
	resigned    = time.Second     // for the rest, once something did not come
	limit       = 2 * time.Minute // for the whole run, whatever happens
)

// Options of a run. Binary is the fleet binary; Story gets the timeline.
type Options struct {
	Binary string
	Story  io.Writer
	Fault  string // planted in both nodes
	Keep   string // folder to keep everything in; "": a temporary one, removed
}

// run is one demonstration.
type run struct {
	o      Options
	t      *timeline
	dir    string
	nodes  []*cluster.Node // atlas, borea
	agents map[string]*agent
	kills  int
	off    []string
}

// hubs are the two organisations, in the order of the story, and what the other one may reach there.
var hubs = []struct{ id, open string }{{"atlas.example", "search/*"}, {"borea.example", "build/*"}}

// Run tells the story and returns the checker's verdict. The error is for what kept the run from being judged.
func Run(ctx context.Context, o Options) (res Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := &run{o: o, t: newTimeline(o.Story), dir: o.Keep, agents: map[string]*agent{}}
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "fleet-demo-"); err != nil {
			return res, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	}
	defer func() { err = errors.Join(err, r.cleanUp()) }()
	for _, part := range []func(context.Context) error{r.peering, r.agentsJoin, r.talk, r.away, r.underFire} {
		if err := part(ctx); err != nil {
			return res, err
		}
	}
	return r.verdict(ctx)
}

// wait polls with the run's patience. An unmet condition is noted and the story goes on.
func (r *run) wait(ctx context.Context, what string, met func(context.Context) error) bool {
	bound := patience
	if len(r.off) > 0 {
		bound = resigned
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	if err := process.Poll(ctx, func() error { return met(ctx) }); err != nil {
		r.off = append(r.off, "did not come: "+what)
		r.t.say("  … waited in vain for %s", what)
		return false
	}
	return true
}

func (r *run) peering(ctx context.Context) error {
	r.t.head("Two organisations, each with its own node.")
	var args []string
	if r.o.Fault != "" {
		args = []string{"--testing__fault", r.o.Fault}
	}
	for _, hub := range hubs {
		n, err := cluster.Make(ctx, cluster.Options{Binary: r.o.Binary, Hub: hub.id, Dir: r.dir, Args: args})
		if err != nil {
			return err
		}
		r.nodes = append(r.nodes, n)
		r.t.say("fleet init --hub %s      key %.24s…", n.Hub, n.Pin)
	}
	for _, n := range r.nodes {
		if err := n.Start(ctx); err != nil {
			return err
		}
		r.t.say("fleet serve      %s, agents ws://%s, links %s", n.Hub, n.Agents, n.Links)
	}
	if err := r.ceremony(ctx, r.nodes[0], r.nodes[1]); err != nil {
		return err
	}
	r.awaitLink(ctx, r.nodes[1])
	return nil
}

// ceremony peers two running nodes as their operators would.
func (r *run) ceremony(ctx context.Context, host, guest *cluster.Node) error {
	r.t.head("They peer: one invites, the other joins, both compare a code and approve.")
	token, err := host.Invite(ctx)
	if err != nil {
		return err
	}
	r.t.say("fleet peer invite                 at %s: token %.16s…", host.Hub, token)
	code, err := guest.Take(ctx, token)
	if err != nil {
		return err
	}
	r.t.say("fleet peer join                   at %s: code %s", guest.Hub, code)
	if !r.wait(ctx, "the call of "+guest.Hub, func(ctx context.Context) error { return host.Called(ctx, code) }) {
		return nil
	}
	r.t.say("%s was called and turned %s away; it waits there, with the same code", host.Hub, guest.Hub)
	for i, n := range []*cluster.Node{host, guest} {
		other := r.nodes[1-i]
		if err := n.ApproveCode(ctx, other, code, hubs[i].open); err != nil {
			return err
		}
		r.t.say("fleet peer approve %s --may-reach '%s'   at %s", code, hubs[i].open, n.Hub)
	}
	return nil
}

// awaitLink asks the node that started last: the other one may not have noticed yet that an old link is dead.
func (r *run) awaitLink(ctx context.Context, n *cluster.Node) {
	begun := time.Now()
	if r.wait(ctx, "a link", func(ctx context.Context) error { return peerIs(ctx, n, linked) }) {
		r.t.say("linked: QUIC, TLS 1.3, keys pinned both ways (%d ms)", time.Since(begun).Milliseconds())
	}
}

// org is the node of an organisation by its short name.
func (r *run) org(name string) *cluster.Node {
	if name == "atlas" {
		return r.nodes[0]
	}
	return r.nodes[1]
}

func (r *run) agentsJoin(ctx context.Context) error {
	r.t.head("Agents connect, each to its own hub.")
	seats := []string{"search/planner@atlas", "search/ranker@atlas", "build/ci@borea", "build/reviewer@borea"}
	for i := range probes {
		seats = append(seats, fmt.Sprintf("search/probe%d@atlas", i), fmt.Sprintf("build/probe%d@borea", i))
	}
	for _, who := range seats {
		seat, org := split(who)
		a, err := newAgent(r.clients(), r.org(org), seat)
		if err != nil {
			return err
		}
		r.agents[who] = a
		if err := a.join(ctx); err != nil {
			return err
		}
	}
	r.t.say("%d agents registered", len(seats))
	return nil
}

// clients is the folder of the agents' logs.
func (r *run) clients() string { return filepath.Join(r.dir, "clients") }

// talk plays two conversations, each line after the one before it arrived: one of people's agents, and what clients of
// the public hub said while its wire was captured.
func (r *run) talk(ctx context.Context) error {
	r.t.head("A conversation across.")
	lines, err := conversation()
	if err != nil {
		return err
	}
	if err := r.play(ctx, "talk", lines); err != nil {
		return err
	}
	r.t.head("Captured conversations of public clients, played across.")
	if lines, err = captured(); err != nil {
		return err
	}
	return r.play(ctx, "captured", lines)
}

func (r *run) play(ctx context.Context, name string, lines []line) error {
	for i, l := range lines {
		if err := r.say(ctx, fmt.Sprintf("%s-%d", name, i), l); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) say(ctx context.Context, id string, l line) error {
	from, to := r.agents[l.From], r.agents[l.To]
	m := client.Message{To: to.seat, Text: l.Text, ClientMsgID: id, ReceiptRequested: true}
	sender := from.seat
	if from.node != to.node {
		m.To, sender = to.name(), from.name()
	}
	if l.Extra != nil {
		extra, err := wire.ParseObject(l.Extra, wire.Limits{})
		if err != nil {
			return err
		}
		m.Extra = extra.Members
	}
	m.Extra = append(m.Extra, l.own...)
	begun := time.Now()
	if err := from.send(ctx, m); err != nil {
		return err
	}
	if r.wait(ctx, "line "+id, func(context.Context) error { return to.received(sender, id) }) {
		took := float64(time.Since(begun).Microseconds()) / 1000
		if rec, ok := r.receipt(ctx, from, id, delivered); ok {
			r.t.say("%-15s → %-15s %s (%.1f ms; %s)", from.seat, to.seat, shorten(l.Text), took, receiptText(rec))
		}
	}
	return nil
}

// away sends to a recipient that is not there and lets it catch up.
func (r *run) away(ctx context.Context) error {
	r.t.head("A recipient is away.")
	from, to := r.agents["search/planner@atlas"], r.agents["build/reviewer@borea"]
	if err := to.leave(); err != nil {
		return err
	}
	r.t.say("%s goes offline", to.name())
	for i := range awayLetters {
		m := client.Message{To: to.name(), Text: fmt.Sprintf("review request %d", i+1), ClientMsgID: fmt.Sprintf("away-%d", i), ReceiptRequested: true}
		if err := from.send(ctx, m); err != nil {
			return err
		}
	}
	if r.wait(ctx, "its messages to cross", func(ctx context.Context) error { return peerIs(ctx, r.nodes[0], nothingWaits) }) {
		r.t.say("%d messages for it are held durably by %s", awayLetters, to.node.Hub)
	}
	last := fmt.Sprintf("away-%d", awayLetters-1)
	if rec, ok := r.receipt(ctx, from, last, waiting); ok {
		r.t.say("receipt for %s: %s", last, receiptText(rec))
	}
	if err := to.join(ctx); err != nil {
		return err
	}
	if r.wait(ctx, "it to catch up", func(context.Context) error { return to.received(from.name(), last) }) {
		r.t.say("it comes back and has caught up")
	}
	if rec, ok := r.receipt(ctx, from, last, deferred); ok {
		r.t.say("receipt for %s: %s", last, receiptText(rec))
	}
	return nil
}
