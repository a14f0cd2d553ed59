package hub

import (
	"slices"
	"strings"

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
	seats    map[string]*seat
	role     map[string]map[*session]bool
	names    []string   // sorted names; replaced, never altered
	bound    []*session // in the order of names; replaced, never altered
	seen     map[string]int64
	dead     map[string]*deadLetter
	takeover map[string]*takeovers
	presence presence
	watchers []*watcher // never altered once handed out
}

// seat is one name with the sockets that speak for it. A sidecar stands in its
// own seat and in that of its logical identity.
type seat struct{ agent, listener, bridge *session }

// sidecars lists the online sidecars of a seat.
func (t *seat) sidecars() (out []*session) {
	if t.listener != nil {
		out = append(out, t.listener)
	}
	if t.bridge != nil {
		out = append(out, t.bridge)
	}
	return out
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
		seats: map[string]*seat{}, role: map[string]map[*session]bool{}, names: []string{}, seen: map[string]int64{},
		dead: map[string]*deadLetter{}, takeover: map[string]*takeovers{},
	}
}

// byName is the session bound to a name, nil when it is not online.
func (r *roster) byName(name string) *session { return r.seatOf(name).agent }

// seatOf is the seat of a name, empty when nobody speaks for it.
func (r *roster) seatOf(name string) seat {
	if t := r.seats[name]; t != nil {
		return *t
	}
	return seat{}
}

// online lists the bound names, sorted. The slice is shared and never altered.
func (r *roster) online() []string { return r.names }

// everybody lists the bound sessions by name. The slice is shared and never
// altered.
func (r *roster) everybody() []*session { return r.bound }

// members is the range of names and bound whose names begin with "project/".
func (r *roster) members(project string) (from, to int) {
	from, _ = slices.BinarySearch(r.names, project+"/")
	to, _ = slices.BinarySearch(r.names, project+"0") // '0' follows '/'
	return from, to
}

// onlineIn lists the bound names of one project, sorted.
func (r *roster) onlineIn(project string) []string {
	from, to := r.members(project)
	names := r.names[from:to:to]
	if r.byName(project) != nil {
		return insert(names, project)
	}
	return names
}

func (r *roster) bind(s *session) {
	i, _ := slices.BinarySearch(r.names, s.name)
	r.names = slices.Insert(slices.Clip(r.names), i, s.name)
	r.bound = slices.Insert(slices.Clip(r.bound), i, s)
	r.sit(s)
}

// sit gives a session its places: its own seat, and that of its logical identity.
func (r *roster) sit(s *session) {
	r.enter(s.name).agent = s
	switch {
	case s.logical == s.name:
	case strings.HasSuffix(s.name, paneSuffix):
		r.enter(s.logical).bridge = s
	default:
		r.enter(s.logical).listener = s
	}
}

// paneSuffix ends the names of pane bridges.
const paneSuffix = "-pane-rx"

func (r *roster) enter(name string) *seat {
	t := r.seats[name]
	if t == nil {
		t = &seat{}
		r.seats[name] = t
	}
	return t
}

// unbind lets a session's name go. It may be called again after another session
// took the name.
func (r *roster) unbind(s *session) {
	r.declare(s, &declaration{})
	if r.byName(s.name) != s {
		return
	}
	i, _ := slices.BinarySearch(r.names, s.name)
	r.names = cut(r.names, i)
	r.bound = cut(r.bound, i)
	r.leave(s.name, s)
	r.leave(s.logical, s)
}

func (r *roster) leave(name string, s *session) {
	t := r.seats[name]
	if t == nil {
		return
	}
	for _, place := range [...]**session{&t.agent, &t.listener, &t.bridge} {
		if *place == s {
			*place = nil
		}
	}
	if *t == (seat{}) {
		delete(r.seats, name)
	}
}

// cut returns a copy of list without element i.
func cut[T any](list []T, i int) []T {
	return append(append(make([]T, 0, len(list)-1), list[:i]...), list[i+1:]...)
}

// declare replaces what an agent says of itself.
func (r *roster) declare(s *session, next *declaration) {
	for _, role := range s.roles() {
		dropFrom(r.role, role, s)
	}
	s.said.Store(next)
	for _, role := range next.roles {
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
	if len(r.dead) >= deadLetterRows && oldest != nil {
		delete(r.dead, oldest.target)
	}
}

// deadLetters lists the rows that are not out of date.
func (r *roster) deadLetters(now int64) []deadLetter {
	out := make([]deadLetter, 0, len(r.dead))
	for _, d := range r.dead {
		if now-d.lastUS <= deadLetterAge {
			out = append(out, *d)
		}
	}
	return out
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
