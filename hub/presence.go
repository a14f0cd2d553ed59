package hub

import "fleetrelay/hub/wire"

// announceJoin tells a new arrival that it is bound and everybody else that it
// came. The roster's changes of this draft are not applied yet.
func (v *view) announceJoin(d *draft, s *session, name string) {
	if len(v.ro.bound) < publicPresence {
		item := v.presence(name, wire.PresenceJoined, insert(v.ro.online(), name))
		d.tell(s, item)
		d.tellAll(v.ro.everybody(), item)
		d.alter(presenceTold{now: v.now})
		return
	}
	project := wire.Project(name)
	d.tell(s, v.presence(name, wire.PresenceJoined, insert(v.ro.onlineIn(project), name)))
	d.alter(presenceChange{agent: name, event: wire.PresenceJoined, fresh: s})
}

// announceLeave tells everybody that a name went.
func (v *view) announceLeave(d *draft, s *session) {
	if len(v.ro.bound) <= publicPresence {
		others := without(v.ro.everybody(), s)
		d.tellAll(others, v.presence(s.name, wire.PresenceLeft, without(v.ro.online(), s.name)))
		d.alter(presenceTold{now: v.now})
		return
	}
	d.alter(presenceChange{agent: s.name, event: wire.PresenceLeft})
}

func (v *view) presence(agent string, event wire.PresenceEvent, online []string) *frame {
	return &frame{size: 256 + 32*len(online), build: &wire.PresenceUpdate{
		HubID: v.config.self, TimeUS: v.now, OnlineAgents: v.fitting(online), Event: event, Agent: agent,
	}}
}

// presence is what above publicPresence names is told once a second: each socket
// gets at most one presence_update a second, and in the end the last change.
type presence struct {
	toldUS  int64           // when everybody was told the last time
	waiting *presenceChange // not yet told
	last    *presenceChange // told the last time, while late is not empty
	fresh   map[*session]bool
	late    map[*session]bool // were too fresh to be told last
}

// tickSlack is by how much two ticks may be less than a second apart.
const tickSlack = secondUS / 20

// presenceChange is one change of who is online.
type presenceChange struct {
	agent string
	event wire.PresenceEvent
	fresh *session // has been told of its own arrival just now
}

func (c presenceChange) change(r *roster) {
	p := &r.presence
	p.waiting = &c
	if c.fresh != nil {
		if p.fresh == nil {
			p.fresh = map[*session]bool{}
		}
		p.fresh[c.fresh] = true
	}
}

// presenceTold says that everybody has the whole list now.
type presenceTold struct{ now int64 }

func (c presenceTold) change(r *roster) { r.presence = presence{toldUS: c.now} }

// due is what a second's end tells, and to whom; nil when there is nothing.
func (p *presence) due(now int64, everybody []*session) (c *presenceChange, to []*session) {
	switch {
	case now-p.toldUS < secondUS-tickSlack && now >= p.toldUS:
		return nil, nil
	case p.waiting != nil:
		return p.waiting, keep(everybody, func(s *session) bool { return !p.fresh[s] })
	case len(p.late) > 0:
		return p.last, keep(everybody, func(s *session) bool { return p.late[s] && !p.fresh[s] })
	}
	return nil, nil
}

// presenceDue moves on after what due has told.
type presenceDue struct{ now int64 }

func (c presenceDue) change(r *roster) {
	p := &r.presence
	next := presence{toldUS: c.now}
	if p.waiting != nil {
		// whoever is fresh has not been told of this change, unless it is its own
		next.last, next.late = p.waiting, p.fresh
		delete(next.late, p.waiting.fresh)
	}
	r.presence = next
}

// tick is the core's second: it tells the coalesced presence change, forgets
// what is out of date, makes what was deferred durable, and does what is due.
type tick struct {
	small
	again func() // has the core go on with what is due
}

func (c tick) decide(v *view, d *draft) {
	dueCommand{again: c.again}.decide(v, d)
	v.tickPresence(d)
}

func (v *view) tickPresence(d *draft) {
	d.alter(swept{now: v.now})
	d.then(func() {}) // an effect waits for the sync of everything before it
	c, to := v.ro.presence.due(v.now, v.ro.everybody())
	if c == nil {
		return
	}
	online := v.ro.online()
	if len(online) > publicPresence {
		online = v.ro.onlineIn(wire.Project(c.agent))
	}
	d.tellAll(to, v.presence(c.agent, c.event, online))
	d.alter(presenceDue{now: v.now})
}

type swept struct{ now int64 }

func (c swept) change(r *roster) { r.sweep(c.now) }

// keep returns a copy of list with what ok accepts.
func keep[T any](list []T, ok func(T) bool) []T {
	out := make([]T, 0, len(list))
	for _, e := range list {
		if ok(e) {
			out = append(out, e)
		}
	}
	return out
}

// insert returns a sorted copy of names with name in it.
func insert(names []string, name string) []string {
	out := make([]string, 0, len(names)+1)
	placed := false
	for _, n := range names {
		if !placed && n >= name {
			out, placed = append(out, name), true
			if n == name {
				continue
			}
		}
		out = append(out, n)
	}
	if !placed {
		out = append(out, name)
	}
	return out
}

// without returns a copy of list without x.
func without[T comparable](list []T, x T) []T {
	out := make([]T, 0, len(list))
	for _, e := range list {
		if e != x {
			out = append(out, e)
		}
	}
	return out
}
