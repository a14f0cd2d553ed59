package hub

import (
	"crypto/sha256"
	"time"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// pending is what becomes durable with one sync: a turn, and those before it that
// waited to share its sync.
type pending []written

// written is a turn that was given to the journal.
type written struct {
	*turn
	sync *journal.Pending // nil when the turn holds no events
}

// patience is how long a turn that can wait does so for another one whose sync
// carries it: longer than a busy hub takes from one message to the next, and short
// beside what a receipt took on its way. patientTurns bounds how many wait.
const (
	patience     = 3 * time.Millisecond
	patientTurns = turnsWaiting
)

// committer encodes each turn, lets the journal compute the chain and append it
// without waiting, and hands it to the releaser in order. It closes out when in
// is closed. After a failure it lets turns through unapplied: nothing of them is
// ever told.
type committer struct {
	store *journal.Store
	fail  func(error)
	early func(*turn) // testing: tells before the sync
	owing bool        // deferred facts wait for the next sync
	held  pending     // applied, and waiting for another turn's sync
	attrs int         // bytes that the records of the next turn are given room for
}

// attrsRoom bounds what is allocated for a turn because the one before was large.
const attrsRoom = 1 << 18

func (c *committer) run(in <-chan *turn, out chan<- pending) {
	defer close(out)
	late := time.NewTimer(0) // armed while something is held
	defer late.Stop()
	for open, broken := true, false; open; {
		var t *turn
		select {
		case t, open = <-in:
		case <-late.C:
		}
		if broken {
			continue
		}
		if c.early != nil && t != nil {
			c.early(t)
		}
		ready, err := c.take(t)
		switch {
		case err != nil:
			broken = true
			c.fail(err)
		case ready != nil:
			late.Stop()
			out <- ready
		case len(c.held) == 1:
			late.Reset(patience)
		}
	}
}

// take applies one turn, nil for the end of waiting, and returns what can go on to
// its sync: nothing while it waits.
func (c *committer) take(t *turn) (pending, error) {
	if t == nil {
		return c.flush()
	}
	p, err := c.append(t)
	if err != nil {
		return nil, err
	}
	behind := len(c.held) > 0 && c.owing // what is held is not on its way to the disk yet
	c.held = append(c.held, p)
	switch {
	case !behind && (!t.patient() || c.early != nil):
		return c.release(), nil
	case len(c.held) >= patientTurns:
		return c.flush()
	}
	return nil, nil
}

// release hands on what is held.
func (c *committer) release() pending {
	p := c.held
	c.held = nil
	return p
}

// flush gives what is held a sync of its own.
func (c *committer) flush() (pending, error) {
	if len(c.held) == 0 {
		return nil, nil
	}
	b := journal.NewBatch()
	b.Barrier()
	sync, err := c.store.Apply(b)
	if err != nil {
		return nil, err
	}
	c.owing = false
	c.held = append(c.held, written{sync: sync})
	return c.release(), nil
}

func (c *committer) append(t *turn) (written, error) {
	p := written{turn: t}
	if !c.prepare(t) {
		close(t.applied)
		return p, nil
	}
	sync, err := c.store.Apply(t.batch)
	if err != nil {
		return p, err
	}
	t.batch, t.facts = nil, nil
	close(t.applied)
	p.sync = sync
	return p, nil
}

// prepare encodes the turn and decides what it needs of the disk. Housekeeping
// alone is deferred: its sync would make the next message wait and saves nobody
// anything. So is a turn that waits to share a sync. Whatever is told waits for the
// sync of all that was decided before it, deferred facts included.
func (c *committer) prepare(t *turn) (write bool) {
	attrs := make([]byte, 0, c.attrs) // of the whole turn: one allocation for many records
	defer func() { c.attrs = min(len(attrs)+len(attrs)/8, attrsRoom) }()
	for i := range t.facts {
		f := &t.facts[i]
		from := len(attrs)
		attrs = f.record.Append(attrs)
		f.event.Attrs = attrs[from:len(attrs):len(attrs)]
		t.class = max(t.class, classOf(f.event.Kind))
		t.batch.Append(f.event)
	}
	switch {
	case t.deferrable(), t.patient() && c.early == nil:
		t.batch.Defer()
		c.owing = true
		return true
	case len(t.facts) > 0:
		c.owing = false
		return true
	case c.owing && t.tells():
		t.batch.Barrier()
		c.owing = false
		return true
	}
	return false
}

// tells says whether the turn has an effect that must wait for a sync.
func (t *turn) tells() bool {
	for i := range t.effects {
		if !t.effects[i].quiet {
			return true
		}
	}
	return false
}

// deferrable says whether the turn is housekeeping that nobody is told: what a
// power cut takes of it is asked for, or said, again.
func (t *turn) deferrable() bool { return t.class == classHousekeeping && !t.tells() }

// patient says whether what the turn tells may wait a moment: it is about receipts
// of other hubs, and nothing else was decided.
func (t *turn) patient() bool { return t.class == classReceipts }

// class is how soon what a turn holds must be on the disk.
type class int

const (
	classNone         class = iota
	classHousekeeping       // can be found again
	classReceipts           // what other hubs say of messages that were accepted before
	classUrgent             // everything else
)

func classOf(k journal.Kind) class {
	switch k {
	case journal.KindLaneAcked, journal.KindWatermarkRaised, journal.KindNotificationsSettled:
		return classHousekeeping
	case journal.KindVerdictsHeard:
		return classReceipts
	}
	return classUrgent
}

// releaser waits for syncs in order and only then publishes a turn and runs its
// effects. After the first failed sync nothing is ever told again.
type releaser struct {
	published *published
	forwarder func() Forwarder
	fail      func(error)
	stats     *stats
	early     bool // testing: the committer has told already
}

func (r *releaser) run(in <-chan pending) {
	broken := false
	for p := range in {
		if broken {
			continue
		}
		if err := p.wait(); err != nil {
			broken = true
			r.fail(err)
			continue
		}
		for _, w := range p {
			if w.turn != nil && !r.early {
				r.release(w.turn)
			}
		}
	}
}

// wait returns when all of it is durable.
func (p pending) wait() error {
	for _, w := range p {
		if w.sync == nil {
			continue
		}
		if err := w.sync.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (r *releaser) release(t *turn) {
	woken := r.published.turn(t)
	r.stats.turns.Add(1)
	r.stats.events.Store(t.head)
	for _, e := range t.effects {
		e.release()
	}
	f := r.forwarder()
	if f == nil {
		return
	}
	for _, peer := range woken {
		f.Wake(peer, r.published.lane(peer).out.Head)
	}
	if t.trust != nil || t.ceremony {
		f.PeersChanged()
	}
}

// release tells one effect. Sending never blocks: a full queue closes that
// socket.
func (e *effect) release() {
	switch {
	case e.run != nil:
		e.run()
	case e.to != nil:
		e.to.sock.Send(e.item)
	default:
		for _, s := range e.all {
			s.sock.Send(e.item)
		}
	}
}

func digestOf(b []byte) [32]byte { return sha256.Sum256(b) }

// age has the core end what waited too long, if there is any. unread gets a token
// when there is more.
func (h *Hub) age(a *ager, unread chan struct{}) {
	list, more := a.look(h.opts.Now().UnixMicro())
	if len(list) == 0 && !more {
		return
	}
	c := &withdrawCommand{list: list}
	if more {
		c.done = func() { signal(unread) }
	}
	h.in.offer(h.aging, c) // one at a time: the next second looks again
}

// clock drives the core's second.
func (h *Hub) clock(stop <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var again func()
	a, unread := &ager{hub: h, past: map[wire.HubID]uint64{}}, make(chan struct{}, 1)
	again = func() { h.in.offer(h.ticking, dueCommand{again: again}) } // one more turn, after what others have to say
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			h.in.offer(h.ticking, tick{again: again})
			h.age(a, unread)
		case <-unread:
			h.age(a, unread)
		}
	}
}
