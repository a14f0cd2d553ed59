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

// whoCommand asks who is here. The core copies what it owns; counting mail and
// building the frame happen in the socket's writer, over the journal up to this
// turn.
type whoCommand struct {
	small
	s *session
}

func (c *whoCommand) decide(v *view, d *draft) {
	d.heard(c.s, v.now, true)
	w := &who{
		store: v.store, upTo: d.next - 1, known: v.st.known.all(), raised: v.raised,
		snapshot: wire.WhoSnapshot{
			HubID: v.config.self, TimeUS: v.now, Target: c.s.name, OnlineAgents: v.ro.online(),
			ConnectedClients: v.ro.sockets, HubVersion: v.config.version, ConfigEpoch: v.config.configEpoch,
		},
	}
	for _, name := range v.ro.online() {
		w.add(v, v.ro.byName[name], c.s)
	}
	d.tell(c.s, &frame{build: w, size: 1024})
}

// who is a who_snapshot in the making.
type who struct {
	store    *journal.Store
	upTo     uint64
	known    []identity
	raised   map[string]uint64
	roles    map[string][]string // of every identity that is online, for counting
	snapshot wire.WhoSnapshot
}

func (w *who) add(v *view, s, asker *session) {
	if w.roles == nil {
		w.roles = map[string][]string{}
	}
	w.roles[s.logical] = append(w.roles[s.logical], s.roles...)
	if len(s.roles) > 0 {
		sorted := slices.Sorted(slices.Values(s.roles))
		w.snapshot.AgentRoles = append(w.snapshot.AgentRoles, wire.NameRoles{Name: s.name, Roles: sorted})
	}
	if s.wake != "" && s.wake != wire.WakeUnknown {
		w.snapshot.Wake = append(w.snapshot.Wake, wire.NameWake{Name: s.name, Wake: s.wake})
	}
	if !isListener(s.name) {
		reaction := s.lastReaction
		if s == asker {
			reaction = v.now // this very request
		}
		w.snapshot.Liveness = append(w.snapshot.Liveness, wire.AgentLiveness{
			Name: s.name, ProvenLive: v.ro.live(s.name, v.now), HasLiveWaiter: v.ro.liveWaiter(s.name, v.now),
			ReactionAgeUS: v.now - reaction,
		})
	}
}

// isListener says whether a name ends like a receive-only sidecar's.
func isListener(name string) bool {
	_, sidecar := wire.LogicalIdentity(name)
	return sidecar
}

// Append counts the mailboxes and appends the frame.
func (w *who) Append(dst []byte) []byte {
	marks := map[string]uint64{}
	for _, id := range w.known {
		marks[id.name] = id.watermark
	}
	for name, mark := range w.raised {
		marks[name] = max(mark, marks[name])
	}
	for name := range w.roles {
		if _, ok := marks[name]; !ok {
			marks[name] = 0
		}
	}
	w.snapshot.MailboxPending = []wire.NameCount{}
	for _, name := range sortedKeys(marks) {
		m := mailbox{store: w.store, identity: name, roles: w.roles[name], after: w.markOf(name, marks[name]), upTo: w.upTo}
		w.snapshot.MailboxPending = append(w.snapshot.MailboxPending, wire.NameCount{
			Name: name, Count: m.count(mailboxCountLimit),
		})
	}
	return w.snapshot.Append(dst)
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

// stateCommand asks for the state snapshot: agents seen and dead letters.
type stateCommand struct {
	small
	s *session
}

func (c *stateCommand) decide(v *view, d *draft) {
	d.heard(c.s, v.now, true)
	snap := &wire.StateSnapshot{
		HubID: v.config.self, TimeUS: v.now, Target: c.s.name, GeneratedUS: v.now,
	}
	for _, name := range sortedKeys(v.ro.seen) {
		seen := v.ro.seen[name]
		if name == c.s.name {
			seen = v.now
		}
		snap.Agents = append(snap.Agents, wire.AgentSeen{Agent: name, LastSeenUS: seen})
	}
	for _, dl := range v.ro.dead {
		if dl.target != c.s.name {
			snap.DeadLetters = append(snap.DeadLetters, wire.DeadLetter{
				Target: dl.target, Count: uint64(dl.count), LastUS: dl.lastUS, LastSender: dl.lastSender,
			})
		}
	}
	slices.SortFunc(snap.DeadLetters, func(a, b wire.DeadLetter) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Target, b.Target))
	})
	d.tell(c.s, frameItem(snap))
}
