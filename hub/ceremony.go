package hub

import (
	"fmt"
	"slices"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// Bounds of what waits between an invitation and an approval.
const (
	// maxInvites bounds the open invites of a hub.
	maxInvites = 256
	// maxClosedInvites bounds those that are remembered after their end, so that
	// whoever comes late is told apart from whoever guesses.
	maxClosedInvites = 256
	// maxPending bounds the rows that a journal holds: joined and invited ones.
	maxPending = 256
	// DefaultInviteTTL and MaxInviteTTL are for how long an invite is open.
	DefaultInviteTTL = 24 * time.Hour
	MaxInviteTTL     = 7 * 24 * time.Hour
	// expiredLife and maxExpired bound the joined rows that are shown after their
	// invitation has ended, so that whoever took it learns why nothing came of it.
	expiredLife = 24 * time.Hour
	maxExpired  = 64
	// calledLife is how long one who called with an invite waits for a decision.
	calledLife = 7 * 24 * time.Hour
)

// ceremony is what waits between an invitation and an approval. It is part of
// the hot state.
type ceremony struct {
	invites []invite // the oldest first
	// pending are the rows in the journal, the oldest first, each key once. The
	// slice is replaced, never altered: it is published.
	pending []federation.Pending
}

// invite is one invitation of this hub: only the hash of its secret is kept.
type invite struct {
	id                   string
	hash                 [32]byte
	by, user             string
	createdUS, expiresUS int64
	usedBy               federation.Pin // zero until somebody called with it
	usedByHub            wire.HubID     // as that one called itself
	withdrawn            bool
}

func (i *invite) used() bool { return i.usedBy != federation.Pin{} }

func (i *invite) open(nowUS int64) bool { return i.why(nowUS) == "" }

// why says why an invite is not open, "" if it is.
func (i *invite) why(nowUS int64) wire.Reason {
	switch {
	case i.used():
		return wire.ReasonInviteUsed
	case i.withdrawn:
		return wire.ReasonInviteWithdrawn
	case nowUS >= i.expiresUS:
		return wire.ReasonInviteExpired
	}
	return ""
}

func (c *ceremony) openInvites(nowUS int64) (n int) {
	for i := range c.invites {
		if c.invites[i].open(nowUS) {
			n++
		}
	}
	return n
}

// invite finds an invite by its id.
func (c *ceremony) invite(id string) *invite {
	for i := range c.invites {
		if c.invites[i].id == id {
			return &c.invites[i]
		}
	}
	return nil
}

// openInvite finds the invite of a secret; why says that it is not open.
func (c *ceremony) openInvite(hash [32]byte, nowUS int64) (i *invite, why wire.Reason) {
	at := slices.IndexFunc(c.invites, func(i invite) bool { return i.hash == hash })
	if at < 0 {
		return nil, wire.ReasonInvalidInvite
	}
	i = &c.invites[at]
	if why = i.why(nowUS); why != "" {
		return nil, why
	}
	return i, ""
}

// row finds the row of a key, if it still waits.
func (c *ceremony) row(pin federation.Pin, nowUS int64) (federation.Pending, bool) {
	at := slices.IndexFunc(c.pending, func(p federation.Pending) bool { return p.Pin == pin && nowUS < p.ExpiresUS })
	if at < 0 {
		return federation.Pending{}, false
	}
	return c.pending[at], true
}

// full says whether there is room for no further row.
func (c *ceremony) full(nowUS int64) bool { return len(waiting(c.pending, nowUS)) >= maxPending }

// waiting are the rows that have not expired.
func waiting(rows []federation.Pending, nowUS int64) []federation.Pending {
	return keep(rows, func(p federation.Pending) bool { return nowUS < p.ExpiresUS })
}

// expired are the joined rows whose invitation ended less than expiredLife ago
// without a decision.
func expired(rows []federation.Pending, nowUS int64) []federation.Pending {
	return keep(rows, func(p federation.Pending) bool {
		return p.Joined && nowUS >= p.ExpiresUS && nowUS-p.ExpiresUS < expiredLife.Microseconds()
	})
}

// inviteCreated opens an invite and forgets the oldest closed ones.
func (c *ceremony) inviteCreated(nowUS int64, r *journal.InviteCreated) {
	excess := len(c.invites) - c.openInvites(nowUS) - maxClosedInvites
	c.invites = slices.DeleteFunc(c.invites, func(i invite) bool {
		if i.open(nowUS) || excess <= 0 {
			return false
		}
		excess--
		return true
	})
	c.invites = append(c.invites, invite{id: r.ID, hash: r.Hash, by: r.By, user: r.User, createdUS: nowUS, expiresUS: r.ExpiresUS})
}

// joined makes the row of a hub whose invitation was taken. If that hub has
// called here with an invite meanwhile, it stays so.
func (c *ceremony) joined(nowUS int64, r *journal.PeerJoined) {
	row, _ := c.row(r.Pin, nowUS)
	row.Hub, row.Pin, row.Endpoints, row.Invite, row.Joined = wire.HubID(r.Hub), r.Pin, r.Endpoints, r.Invite, true
	row.ExpiresUS = max(row.ExpiresUS, r.ExpiresUS)
	c.put(nowUS, row)
}

// called uses an invite up. What the caller says of itself does not replace what
// its own invitation said.
func (c *ceremony) called(nowUS int64, r *journal.PeerCalled) {
	if i := c.invite(r.InviteID); i != nil {
		i.usedBy, i.usedByHub = r.Pin, wire.HubID(r.Hub)
	}
	row, _ := c.row(r.Pin, nowUS)
	if !row.Joined {
		row.Hub, row.Pin, row.Endpoints = wire.HubID(r.Hub), r.Pin, r.Endpoints
	}
	row.Host, row.Invited, row.InviteID, row.FirstUS, row.LastUS, row.Times = r.Host, true, r.InviteID, nowUS, nowUS, 1
	row.ExpiresUS = max(row.ExpiresUS, nowUS+calledLife.Microseconds())
	c.put(nowUS, row)
}

// put enters a row, in the place of its key's earlier one, and forgets those that
// have expired, of joined ones all but the latest maxExpired of a day.
func (c *ceremony) put(nowUS int64, row federation.Pending) {
	ended := expired(c.pending, nowUS)
	ended = ended[max(0, len(ended)-maxExpired):]
	rows := keep(c.pending, func(p federation.Pending) bool { return nowUS < p.ExpiresUS || hasPin(ended, p.Pin) })
	at := slices.IndexFunc(rows, func(p federation.Pending) bool { return p.Pin == row.Pin })
	if at < 0 {
		rows = append(rows, row)
	} else {
		rows[at] = row
	}
	c.pending = rows
}

// decided drops the rows of keys that were approved or rejected, and of a hub
// that has been approved by another key. It says whether there were any.
func (c *ceremony) decided(approved wire.HubID, pins ...federation.Pin) bool {
	rows := keep(c.pending, func(p federation.Pending) bool {
		return !slices.Contains(pins, p.Pin) && (approved == "" || p.Hub != approved || !p.Joined)
	})
	changed := len(rows) != len(c.pending)
	c.pending = rows
	return changed
}

// applyTrust folds one event about who is trusted into the hot state.
func (st *state) applyTrust(ev *journal.Event, rec journal.Record) (t touched) {
	switch r := rec.(type) {
	case journal.InviteCreated:
		st.ceremony.inviteCreated(ev.TimeUS, &r)
	case journal.InviteWithdrawn:
		if i := st.ceremony.invite(r.ID); i != nil {
			i.withdrawn = true
		}
	case journal.PeerJoined:
		st.ceremony.joined(ev.TimeUS, &r)
		t.pending = true
	case journal.PeerCalled:
		st.ceremony.called(ev.TimeUS, &r)
		t.pending = true
	case journal.PeerApproved:
		st.trust = st.trust.With(peerOf(ev, &r))
		t.pending = st.ceremony.decided(wire.HubID(r.Hub), r.Pins...)
		t.lane, t.trust = st.lane(wire.HubID(r.Hub)), true
	case journal.PeerRejected:
		st.trust = st.trust.Reject(federation.RejectedPin{
			Hub: wire.HubID(r.Hub), Pin: r.Pin, Endpoints: r.Endpoints, Invite: r.Invite, By: r.By, User: r.User, AtUS: ev.TimeUS,
		})
		t.pending = st.ceremony.decided("", r.Pin)
		t.trust = true
	case journal.PeerRevoked:
		st.trust = st.trust.Revoke(wire.HubID(r.Hub), federation.Revocation{RevokedBy: r.By, RevokedUser: r.User, Why: r.Why, RevokedUS: ev.TimeUS})
		t.trust = true
	}
	return t
}

// checkTrust refuses an event about who is trusted that contradicts what came
// before it: an invite used twice, the end of an approval that was never given.
func (st *state) checkTrust(ev *journal.Event, rec journal.Record) error {
	switch r := rec.(type) {
	case journal.InviteCreated:
		if st.ceremony.invite(r.ID) != nil {
			return fmt.Errorf("event %d creates the invite %s again", ev.Seq, r.ID)
		}
	case journal.InviteWithdrawn:
		if i := st.ceremony.invite(r.ID); i == nil || i.used() || i.withdrawn {
			return fmt.Errorf("event %d withdraws the invite %s, which is not open", ev.Seq, r.ID)
		}
	case journal.PeerCalled:
		if i := st.ceremony.invite(r.InviteID); i == nil || i.used() || i.withdrawn {
			return fmt.Errorf("event %d uses the invite %s, which is not open", ev.Seq, r.InviteID)
		}
	case journal.PeerApproved:
		for _, text := range r.MayReach {
			if _, err := wire.ParsePattern(text); err != nil {
				return fmt.Errorf("event %d holds %q, which is no pattern", ev.Seq, text)
			}
		}
	case journal.PeerRevoked:
		if _, ok := st.trust.Peer(wire.HubID(r.Hub)); !ok {
			return fmt.Errorf("event %d revokes %s, which is not approved", ev.Seq, r.Hub)
		}
	}
	return nil
}

// peerOf rebuilds a peer from its record. Patterns in the journal have been
// parsed before they were written.
func peerOf(ev *journal.Event, r *journal.PeerApproved) federation.Peer {
	p := federation.Peer{
		Hub: wire.HubID(r.Hub), Endpoints: r.Endpoints, Pins: r.Pins, By: r.By, User: r.User, AddedUS: ev.TimeUS, Invite: r.Invite,
	}
	for _, text := range r.MayReach {
		pattern, err := wire.ParsePattern(text)
		if err != nil {
			panic("hub: a journalled pattern does not parse: " + text)
		}
		p.MayReach = append(p.MayReach, pattern)
	}
	return p
}
