package hub

import (
	"slices"

	"fleetrelay/hub/wire"
)

// audience is whom a chat meets on this hub (core-wire-v2 sections 5 and 8).
type audience struct {
	matched []string // logical names, sorted, unique
	live    []string
	stale   []string
	passive []string
	wake    []wire.NameWake // one per match
	sockets []*session      // where a private-directed chat goes, the sender's excepted
}

// audienceOf matches a target against who is online. For a target that is not
// directed every match counts as live.
func (r *roster) audienceOf(sender string, target *wire.Target, now int64) audience {
	some := r.candidates(target)
	a := audience{sockets: make([]*session, 0, len(some)), matched: make([]string, 0, len(some))}
	for _, s := range some {
		if name, ok := r.matchedAs(s, target, sender); ok {
			a.sockets = append(a.sockets, s)
			a.matched = append(a.matched, name)
		}
	}
	slices.Sort(a.matched)
	a.matched = slices.Compact(a.matched)
	a.classify(r, target.Directed(), now)
	return a
}

// classify sorts the matched names into live, stale and passive.
func (a *audience) classify(r *roster, directed bool, now int64) {
	a.wake = make([]wire.NameWake, 0, len(a.matched))
	a.live, a.stale, a.passive = make([]string, 0, len(a.matched)), []string{}, []string{}
	for _, name := range a.matched {
		t := r.seatOf(name)
		wake := t.wake()
		a.wake = append(a.wake, wire.NameWake{Name: name, Wake: wake})
		if !directed || t.live(now) {
			a.live = append(a.live, name)
		} else {
			a.stale = append(a.stale, name)
		}
		if wake == wire.WakePassive {
			a.passive = append(a.passive, name)
		}
	}
}

// listBytes bounds each list of names in a receipt or warning, so that the frame
// stays below what agents accept and the record below what the journal does.
const listBytes = 1 << 16

// bounded is the audience as it is told: lists that would be too long are cut.
func (a *audience) bounded() *audience {
	b := *a
	for _, list := range [...]*[]string{&b.matched, &b.live, &b.stale, &b.passive} {
		*list = cutTo(listBytes, *list, func(name string) int { return quoted(name) + 3 })
	}
	b.wake = cutTo(listBytes, b.wake, func(w wire.NameWake) int { return quoted(w.Name) + 16 })
	return &b
}

// cutTo returns the first elements whose sizes sum up to at most room.
func cutTo[T any](room int, list []T, size func(T) int) []T {
	for i, e := range list {
		if room -= size(e); room < 0 {
			return list[:i:i]
		}
	}
	return list
}

// candidates lists every session that may match, each once, through the indexes
// where the target's parts allow it.
func (r *roster) candidates(target *wire.Target) []*session {
	parts := target.Parts()
	if target.Everybody() || slices.ContainsFunc(parts, isGlob) {
		return r.bound
	}
	if len(parts) == 1 && len(r.role[parts[0]]) == 0 {
		return r.named(parts[0])
	}
	var out []*session
	for _, part := range parts {
		out = append(out, r.named(part)...)
		for s := range r.role[part] {
			out = append(out, s)
			t := r.seatOf(s.logical)
			out = append(out, t.sidecars()...)
		}
	}
	return unique(out)
}

// named lists the sessions that a part reaches as a name or as a project, each
// once.
func (r *roster) named(part string) []*session {
	from, to := r.members(part)
	t := r.seatOf(part)
	if t == (seat{}) {
		return r.bound[from:to:to]
	}
	return append(t.sockets(), r.bound[from:to]...)
}

func unique(list []*session) []*session {
	seen := make(map[*session]bool, len(list))
	out := list[:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// matchedAs says under which name a session is addressed: a sidecar counts as
// its logical identity when the target addresses that. Nobody is a recipient of
// its own chat, nor is its sidecar, unless the target names that one.
func (r *roster) matchedAs(s *session, target *wire.Target, sender string) (string, bool) {
	switch {
	case s.name == sender:
		return "", false
	case s.logical == s.name:
		return s.name, target.Matches(s.name, s.roles())
	case s.logical == sender:
		return s.name, slices.Contains(target.Parts(), s.name)
	}
	roles := s.roles()
	if owner := r.byName(s.logical); owner != nil && len(owner.roles()) > 0 {
		roles = append(slices.Clone(roles), owner.roles()...)
	}
	if target.Matches(s.logical, roles) {
		return s.logical, true
	}
	return s.name, target.Matches(s.name, s.roles())
}

// live says whether the agent would consume a directed chat now.
func (t *seat) live(now int64) bool {
	return (t.agent != nil && now-t.agent.lastReaction.Load() <= reactionWindow) || t.liveWaiter(now)
}

// liveWaiter says whether the agent has a sidecar that was heard lately.
func (t *seat) liveWaiter(now int64) bool {
	return heardLately(t.listener, now) || heardLately(t.bridge, now)
}

func heardLately(s *session, now int64) bool {
	return s != nil && now-s.lastFrame.Load() <= sidecarWindow
}

// wake is the wake capability of an agent: its own, else its pane bridge's, else
// its listener's.
func (t *seat) wake() string {
	for _, s := range [...]*session{t.agent, t.bridge, t.listener} {
		if s != nil && s.wake() != "" {
			return s.wake()
		}
	}
	return wire.WakeUnknown
}

// sockets lists the sessions of one seat: its own and its sidecars'.
func (t *seat) sockets() []*session {
	if t.agent == nil {
		return t.sidecars()
	}
	return append([]*session{t.agent}, t.sidecars()...)
}

func isGlob(part string) bool {
	for i := range len(part) {
		if c := part[i]; c == '*' || c == '?' || c == '[' {
			return true
		}
	}
	return false
}
