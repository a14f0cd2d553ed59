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
func (v *view) audienceOf(sender string, target *wire.Target) audience {
	r := &v.ro
	a := audience{matched: []string{}, live: []string{}, stale: []string{}, passive: []string{}}
	for s := range r.candidates(target) {
		if s.logical == sender {
			continue // neither the sender nor its sidecars are recipients of its own chat
		}
		name, ok := r.matchedAs(s, target)
		if !ok {
			continue
		}
		a.sockets = append(a.sockets, s)
		a.matched = append(a.matched, name)
	}
	slices.Sort(a.matched)
	a.matched = slices.Compact(a.matched)
	for _, name := range a.matched {
		a.classify(v, name, target.Directed())
	}
	return a
}

func (a *audience) classify(v *view, name string, directed bool) {
	wake := v.ro.wakeOf(name)
	a.wake = append(a.wake, wire.NameWake{Name: name, Wake: wake})
	if !directed || v.ro.live(name, v.now) {
		a.live = append(a.live, name)
	} else {
		a.stale = append(a.stale, name)
	}
	if wake == wire.WakePassive {
		a.passive = append(a.passive, name)
	}
}

// candidates yields every session that may match, through the indexes where the
// target's parts allow it.
func (r *roster) candidates(target *wire.Target) map[*session]bool {
	out := map[*session]bool{}
	if target.Everybody() {
		addAll(out, r.everybody())
		return out
	}
	for _, part := range target.Parts() {
		if isGlob(part) {
			addAll(out, r.everybody())
			return out
		}
		for _, suffix := range [...]string{"", "-rx", "-pane-rx"} {
			if s := r.byName[part+suffix]; s != nil {
				out[s] = true
			}
		}
		for s := range r.project[part] {
			out[s] = true
		}
		for s := range r.role[part] {
			out[s] = true
			r.addSidecars(out, s)
		}
	}
	return out
}

// addSidecars adds the sidecars of a session whose role was addressed.
func (r *roster) addSidecars(out map[*session]bool, s *session) {
	for _, suffix := range [...]string{"-rx", "-pane-rx"} {
		if side := r.byName[s.logical+suffix]; side != nil {
			out[side] = true
		}
	}
}

// matchedAs says under which name a session is addressed: a sidecar counts as
// its logical identity when the target addresses that.
func (r *roster) matchedAs(s *session, target *wire.Target) (string, bool) {
	if s.logical != s.name {
		roles := s.roles
		if owner := r.byName[s.logical]; owner != nil {
			roles = append(slices.Clone(roles), owner.roles...)
		}
		if target.Matches(s.logical, roles) {
			return s.logical, true
		}
	}
	return s.name, target.Matches(s.name, s.roles)
}

// live says whether an agent would consume a directed chat now.
func (r *roster) live(name string, now int64) bool {
	if s := r.byName[name]; s != nil && now-s.lastReaction <= reactionWindow {
		return true
	}
	return r.liveWaiter(name, now)
}

// liveWaiter says whether the agent has a sidecar that was heard lately.
func (r *roster) liveWaiter(name string, now int64) bool {
	for _, suffix := range [...]string{"-rx", "-pane-rx"} {
		if s := r.byName[name+suffix]; s != nil && now-s.lastFrame <= sidecarWindow {
			return true
		}
	}
	return false
}

// wakeOf is the wake capability of an agent: its own, else its pane bridge's,
// else its listener's.
func (r *roster) wakeOf(name string) string {
	for _, suffix := range [...]string{"", "-pane-rx", "-rx"} {
		if s := r.byName[name+suffix]; s != nil && s.wake != "" && s.wake != wire.WakeUnknown {
			return s.wake
		}
	}
	return wire.WakeUnknown
}

// seat lists the sessions of one seat: its own and its sidecars'.
func (r *roster) seat(name string) (out []*session) {
	for _, suffix := range [...]string{"", "-rx", "-pane-rx"} {
		if s := r.byName[name+suffix]; s != nil {
			out = append(out, s)
		}
	}
	return out
}

func addAll(out map[*session]bool, all []*session) {
	for _, s := range all {
		out[s] = true
	}
}

func isGlob(part string) bool {
	for i := range len(part) {
		if c := part[i]; c == '*' || c == '?' || c == '[' {
			return true
		}
	}
	return false
}
