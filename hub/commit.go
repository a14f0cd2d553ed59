package hub

import (
	"crypto/sha256"
	"time"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// pending is a turn on its way through the disk.
type pending struct {
	*turn
	sync *journal.Pending // nil when the turn holds no events
}

// committer encodes each turn, lets the journal compute the chain and append it
// without waiting, and hands it to the releaser in order. It closes out when in
// is closed. After a failure it lets turns through unapplied: nothing of them is
// ever told.
type committer struct {
	store *journal.Store
	fail  func(error)
	early func(*turn) // testing: tells before the sync
	owing bool        // deferred facts wait for the next sync
}

func (c *committer) run(in <-chan *turn, out chan<- pending) {
	defer close(out)
	broken := false
	for t := range in {
		if broken {
			continue
		}
		if c.early != nil {
			c.early(t)
		}
		p, err := c.append(t)
		if err != nil {
			broken = true
			c.fail(err)
			continue
		}
		out <- p
	}
}

func (c *committer) append(t *turn) (pending, error) {
	p := pending{turn: t}
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
// anything. Whatever is told waits for the sync of all that was decided before
// it, deferred facts included.
func (c *committer) prepare(t *turn) (write bool) {
	for i := range t.facts {
		f := &t.facts[i]
		f.event.Attrs = f.record.Append(nil)
		t.batch.Append(f.event)
	}
	switch {
	case t.deferrable():
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
func (t *turn) deferrable() bool {
	for i := range t.facts {
		switch t.facts[i].event.Kind {
		case journal.KindLaneAcked, journal.KindWatermarkRaised, journal.KindNotificationsSettled:
		default:
			return false
		}
	}
	return len(t.facts) > 0 && !t.tells()
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
		if p.sync != nil {
			if err := p.sync.Wait(); err != nil {
				broken = true
				r.fail(err)
				continue
			}
		}
		if !r.early {
			r.release(p.turn)
		}
	}
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
