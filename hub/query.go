package hub

import (
	"cmp"
	"encoding/binary"
	"slices"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// mailboxCountLimit bounds the counting of one identity's pending mail: a
// mailbox above it is reported as that many.
const mailboxCountLimit = 10_000

// whoCommand asks who is here. The core hands over what is shared and never
// altered; looking at every agent, counting mail and building the frame happen in
// the socket's writer.
type whoCommand struct{ bySession }

func (c *whoCommand) decide(v *view, d *draft) {
	d.heard(c.s, v.now, true)
	d.tell(c.s, &frame{size: 1024, build: &who{
		config: &v.config, store: v.store, asker: c.s.name, now: v.now, upTo: d.next - 1, known: v.st.known.all(), raised: v.raised,
		sockets: v.ro.sockets, names: v.ro.online(), bound: v.ro.everybody(),
	}})
}

// who is a who_snapshot in the making.
type who struct {
	config  *config
	store   *journal.Store
	asker   string
	now     int64
	upTo    uint64 // the mail counted is that of this turn
	known   []identity
	raised  map[string]uint64
	sockets int
	names   []string
	bound   []*session // in the order of names
}

// Append builds the frame. One that would be larger than agents accept leaves
// out what is optional, then what is of other projects.
func (w *who) Append(dst []byte) []byte {
	snap := w.snapshot()
	w.config.counting <- struct{}{} // one count at a time: it reads much and the node has more to do
	snap.MailboxPending = w.pending()
	<-w.config.counting
	out := snap.Append(dst)
	for _, less := range [...]func(*wire.WhoSnapshot){
		func(s *wire.WhoSnapshot) { s.Liveness = nil },
		func(s *wire.WhoSnapshot) { s.Wake = nil },
		w.ownProject,
		func(s *wire.WhoSnapshot) { s.MailboxPending = nil },
	} {
		if len(out) <= w.config.frameBytes {
			break
		}
		less(snap)
		out = snap.Append(dst[:0])
	}
	return out
}

func (w *who) snapshot() *wire.WhoSnapshot {
	snap := &wire.WhoSnapshot{
		HubID: w.config.self, TimeUS: w.now, Target: w.asker, OnlineAgents: w.names,
		ConnectedClients: w.sockets, HubVersion: w.config.version, ConfigEpoch: w.config.configEpoch,
	}
	seats := seatsOf(w.bound)
	for _, s := range w.bound {
		said := s.declared()
		if len(said.roles) > 0 {
			sorted := slices.Sorted(slices.Values(said.roles))
			snap.AgentRoles = append(snap.AgentRoles, wire.NameRoles{Name: s.name, Roles: sorted})
		}
		if wake := s.wake(); wake != "" {
			snap.Wake = append(snap.Wake, wire.NameWake{Name: s.name, Wake: wake})
		}
		if isListener(s.name) {
			continue
		}
		t := seats.seatOf(s.name)
		snap.Liveness = append(snap.Liveness, wire.AgentLiveness{
			Name: s.name, ProvenLive: t.live(w.now), HasLiveWaiter: t.liveWaiter(w.now),
			ReactionAgeUS: max(0, w.now-s.lastReaction.Load()), // it may have spoken since
		})
	}
	return snap
}

// seatsOf is a roster of who was bound then, for reading outside the core.
func seatsOf(bound []*session) *roster {
	r := &roster{seats: make(map[string]*seat, len(bound)), bound: bound}
	for _, s := range bound {
		r.sit(s)
	}
	return r
}

// isListener says whether a name ends like a receive-only sidecar's.
func isListener(name string) bool {
	_, sidecar := wire.LogicalIdentity(name)
	return sidecar
}

// ownProject leaves the names of the asker's project.
func (w *who) ownProject(s *wire.WhoSnapshot) {
	own := wire.Project(w.asker)
	s.OnlineAgents = keep(s.OnlineAgents, func(name string) bool { return wire.Project(name) == own })
	s.AgentRoles = keep(s.AgentRoles, func(r wire.NameRoles) bool { return wire.Project(r.Name) == own })
	s.MailboxPending = keep(s.MailboxPending, func(c wire.NameCount) bool { return wire.Project(c.Name) == own })
}

// pending counts the mail of every identity that is known or online.
func (w *who) pending() []wire.NameCount {
	marks := map[string]uint64{}
	for _, id := range w.known {
		marks[id.name] = id.watermark
	}
	for name, mark := range w.raised {
		marks[name] = max(mark, marks[name])
	}
	roles := map[string][]string{}
	for _, s := range w.bound {
		roles[s.logical] = append(roles[s.logical], s.roles()...)
		marks[s.logical] = max(marks[s.logical], 0)
	}
	out := make([]wire.NameCount, 0, len(marks))
	for _, name := range sortedKeys(marks) {
		m := mailbox{store: w.store, identity: name, roles: roles[name], after: w.markOf(name, marks[name]), upTo: w.upTo}
		out = append(out, wire.NameCount{Name: name, Count: m.count(mailboxCountLimit)})
	}
	return out
}

// markOf reads a watermark that is no longer hot.
func (w *who) markOf(name string, hot uint64) uint64 {
	if hot > 0 {
		return hot
	}
	row, ok, err := w.store.Get(journal.WatermarkKey(name))
	if err != nil || !ok || len(row) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(row)
}

// stateCommand asks for the state snapshot: agents seen and dead letters. The
// core copies them; choosing and sorting happen in the socket's writer.
type stateCommand struct{ bySession }

func (c *stateCommand) decide(v *view, d *draft) {
	d.heard(c.s, v.now, true)
	agents := make([]wire.AgentSeen, 0, len(v.ro.seen))
	for name, seen := range v.ro.seen {
		if name == c.s.name {
			seen = v.now
		}
		agents = append(agents, wire.AgentSeen{Agent: name, LastSeenUS: seen})
	}
	rows := v.ro.deadLetters(v.now)
	rows = keep(rows, func(dl deadLetter) bool { return dl.target != c.s.name && v.mayKnow(c.s, &dl) })
	d.tell(c.s, &frame{size: 1024 + 64*len(agents), build: &stateFrame{
		config: &v.config, asker: c.s.name, now: v.now, agents: agents, dead: rows,
	}})
}

// mayKnow says whether an agent may see a dead letter: in private-directed mode
// who wrote to whom is for those two.
func (v *view) mayKnow(s *session, dl *deadLetter) bool {
	if !v.privateDirected() || dl.lastSender == s.name || dl.lastSender == s.logical {
		return true
	}
	target := wire.CompileTarget(dl.target)
	return target.Matches(s.name, s.roles()) || target.Matches(s.logical, s.roles())
}

// stateFrame is a state_snapshot in the making.
type stateFrame struct {
	config *config
	asker  string
	now    int64
	agents []wire.AgentSeen
	dead   []deadLetter
}

// rowRoom is about what one row of a snapshot takes beside its names.
const rowRoom = 96

// Append builds the frame. Where it would be larger than agents accept, the
// agents seen last and the largest dead letters stay.
func (f *stateFrame) Append(dst []byte) []byte {
	snap := wire.StateSnapshot{HubID: f.config.self, TimeUS: f.now, Target: f.asker, GeneratedUS: f.now}
	slices.SortFunc(f.dead, func(a, b deadLetter) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.target, b.target))
	})
	room := f.config.frameBytes - 1024
	dead := cutTo(room/4, f.dead, func(dl deadLetter) int { return quoted(dl.target) + quoted(dl.lastSender) + rowRoom })
	for _, dl := range dead {
		snap.DeadLetters = append(snap.DeadLetters, wire.DeadLetter{
			Target: dl.target, Count: uint64(dl.count), LastUS: dl.lastUS, LastSender: dl.lastSender,
		})
	}
	slices.SortFunc(f.agents, func(a, b wire.AgentSeen) int { return cmp.Compare(b.LastSeenUS, a.LastSeenUS) })
	snap.Agents = cutTo(room-room/4, f.agents, func(a wire.AgentSeen) int { return quoted(a.Agent) + rowRoom/2 })
	slices.SortFunc(snap.Agents, func(a, b wire.AgentSeen) int { return cmp.Compare(a.Agent, b.Agent) })
	return snap.Append(dst)
}
