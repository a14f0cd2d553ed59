package hub

import "fleetrelay/hub/wire"

// announceJoin tells a new arrival that it is bound and everybody else that it
// came. The roster's changes of this draft are not applied yet.
func (v *view) announceJoin(d *draft, s *session, name string) {
	if len(v.ro.byName) < publicPresence {
		item := v.presence(name, wire.PresenceJoined, insert(v.ro.online(), name))
		d.tell(s, item)
		d.tellAll(v.ro.everybody(), item)
		return
	}
	project := wire.Project(name)
	d.tell(s, v.presence(name, wire.PresenceJoined, insert(v.ro.onlineIn(project), name)))
	d.alter(presenceChange{agent: name, event: wire.PresenceJoined, told: s})
}

// announceLeave tells everybody that a name went.
func (v *view) announceLeave(d *draft, s *session) {
	if len(v.ro.byName) <= publicPresence {
		others := without(v.ro.everybody(), s)
		d.tellAll(others, v.presence(s.name, wire.PresenceLeft, without(v.ro.online(), s.name)))
		return
	}
	d.alter(presenceChange{agent: s.name, event: wire.PresenceLeft})
}

func (v *view) presence(agent string, event wire.PresenceEvent, online []string) *frame {
	return &frame{size: 256 + 32*len(online), build: &wire.PresenceUpdate{
		HubID: v.config.self, TimeUS: v.now, OnlineAgents: online, Event: event, Agent: agent,
	}}
}

// presenceChange is the latest presence change not yet told to everybody: above
// publicPresence names a socket gets at most one a second.
type presenceChange struct {
	agent string
	event wire.PresenceEvent
	told  *session // has been told already
}

func (c presenceChange) change(r *roster) { r.presence = &c }

// tick is the core's second: it tells the coalesced presence change and forgets
// what is out of date.
type tick struct{ small }

func (tick) decide(v *view, d *draft) {
	d.alter(swept{now: v.now})
	if c := v.ro.presence; c != nil {
		online := v.ro.onlineIn(wire.Project(c.agent))
		d.tellAll(without(v.ro.everybody(), c.told), v.presence(c.agent, c.event, online))
	}
}

type swept struct{ now int64 }

func (c swept) change(r *roster) {
	r.presence = nil
	r.sweep(c.now)
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
