package hub

import (
	"slices"

	"fleetrelay/hub/wire"
)

const (
	secondUS = 1_000_000
	// reactionWindow is how long an agent counts as live after a frame that is
	// no heartbeat, or after its registration (core-wire-v2 section 8).
	reactionWindow = 90 * secondUS
	// sidecarWindow is how long a sidecar counts as live after any frame: three
	// heartbeats, not the one of section 18 item 5.
	sidecarWindow = 60 * secondUS
	// Takeovers of one name (section 4).
	takeoverCooldown   = 2 * secondUS
	takeoverWindow     = 30 * secondUS
	takeoverLimit      = 5
	takeoverQuarantine = 60 * secondUS
	// Names remembered for the state snapshot, and dead-letter rows.
	seenNames      = 16384
	deadLetterRows = 200
	deadLetterAge  = 7 * 24 * 3600 * secondUS
	// publicPresence is the number of online names up to which every change is
	// told at once with the whole list.
	publicPresence = 256
)

// roster is who is here now: sockets, bound names, roles, liveness. It belongs
// to the core and is lost with the process.
type roster struct {
	sockets  int
	byName   map[string]*session
	project  map[string]map[*session]bool // by project of the name and of its logical identity
	role     map[string]map[*session]bool
	names    []string   // sorted names; nil after a change
	bound    []*session // all bound sessions; nil after a change; never altered once handed out
	seen     map[string]int64
	dead     map[string]*deadLetter
	takeover map[string]*takeovers
	presence *presenceChange // coalesced change waiting for the next second
	watchers []*watcher      // never altered once handed out
}

// deadLetter counts directed chats that met nobody live.
type deadLetter struct {
	target, lastSender string
	count              int
	lastUS             int64
}

// takeovers is the recent history of one name.
type takeovers struct {
	at      []int64
	blocked int64 // quarantined until
}

func newRoster() roster {
	return roster{
		byName: map[string]*session{}, project: map[string]map[*session]bool{},
		role: map[string]map[*session]bool{}, seen: map[string]int64{},
		dead: map[string]*deadLetter{}, takeover: map[string]*takeovers{},
	}
}

// online lists the bound names, sorted. The slice is shared and never altered.
func (r *roster) online() []string {
	if r.names == nil {
		r.names = make([]string, 0, len(r.byName))
		for name := range r.byName {
			r.names = append(r.names, name)
		}
		slices.Sort(r.names)
	}
	return r.names
}

// everybody lists the bound sessions. The slice is shared and never altered.
func (r *roster) everybody() []*session {
	if r.bound == nil {
		r.bound = make([]*session, 0, len(r.byName))
		for _, s := range r.byName {
			r.bound = append(r.bound, s)
		}
	}
	return r.bound
}

// onlineIn lists the bound names of one project, sorted.
func (r *roster) onlineIn(project string) []string {
	names := []string{}
	for s := range r.project[project] {
		if wire.Project(s.name) == project {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return names
}

func (r *roster) bind(s *session) {
	r.byName[s.name] = s
	r.names, r.bound = nil, nil
	addTo(r.project, wire.Project(s.name), s)
	addTo(r.project, wire.Project(s.logical), s)
}

func (r *roster) unbind(s *session) {
	if r.byName[s.name] == s {
		delete(r.byName, s.name)
	}
	r.names, r.bound = nil, nil
	dropFrom(r.project, wire.Project(s.name), s)
	dropFrom(r.project, wire.Project(s.logical), s)
	r.setRoles(s, nil)
}

func (r *roster) setRoles(s *session, roles []string) {
	for _, role := range s.roles {
		dropFrom(r.role, role, s)
	}
	s.roles = roles
	for _, role := range roles {
		addTo(r.role, role, s)
	}
}

// note records that a name was seen. The memory is bounded: when it is full an
// arbitrary other name is forgotten.
func (r *roster) note(name string, now int64) {
	if _, known := r.seen[name]; !known && len(r.seen) >= seenNames {
		for other := range r.seen {
			delete(r.seen, other)
			break
		}
	}
	r.seen[name] = now
}

func (r *roster) countDead(target, sender string, now int64) {
	d := r.dead[target]
	if d == nil {
		r.dropOldestDead(now)
		d = &deadLetter{target: target}
		r.dead[target] = d
	}
	d.count, d.lastUS, d.lastSender = d.count+1, now, sender
}

func (r *roster) dropOldestDead(now int64) {
	var oldest *deadLetter
	for target, d := range r.dead {
		if now-d.lastUS > deadLetterAge {
			delete(r.dead, target)
		} else if oldest == nil || d.lastUS < oldest.lastUS {
			oldest = d
		}
	}
	if len(r.dead) >= deadLetterRows {
		delete(r.dead, oldest.target)
	}
}

// takeoverVerdict decides whether a held name may be taken over now.
func (r *roster) takeoverVerdict(name string, now int64) (refused wire.Reason) {
	t := r.takeover[name]
	if t == nil {
		return ""
	}
	recent := 0
	for _, at := range t.at {
		if now-at < takeoverWindow {
			recent++
		}
	}
	switch {
	case now < t.blocked || recent+1 >= takeoverLimit:
		return wire.ReasonTakeoverQuarantine
	case len(t.at) > 0 && now-t.at[len(t.at)-1] < takeoverCooldown:
		return wire.ReasonTakeoverCooldown
	}
	return ""
}

// noteTakeover records one takeover, or with refused its quarantine.
func (r *roster) noteTakeover(name string, now int64, refused wire.Reason) {
	t := r.takeover[name]
	if t == nil {
		t = &takeovers{}
		r.takeover[name] = t
	}
	if refused == wire.ReasonTakeoverQuarantine {
		if now >= t.blocked {
			t.blocked = now + takeoverQuarantine
		}
		return
	}
	t.at = append(t.at, now)
	if len(t.at) > takeoverLimit {
		t.at = t.at[1:]
	}
}

// sweep forgets takeover histories that can no longer matter.
func (r *roster) sweep(now int64) {
	for name, t := range r.takeover {
		if now > t.blocked && (len(t.at) == 0 || now-t.at[len(t.at)-1] > takeoverWindow) {
			delete(r.takeover, name)
		}
	}
}

func addTo(index map[string]map[*session]bool, key string, s *session) {
	if index[key] == nil {
		index[key] = map[*session]bool{}
	}
	index[key][s] = true
}

func dropFrom(index map[string]map[*session]bool, key string, s *session) {
	delete(index[key], s)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}
