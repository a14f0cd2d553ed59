package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// Join takes another hub's invitation: it is pending here, and is called with
// the invite until it is approved, rejected or the invite has expired. Taking
// the same again changes nothing; a later one of the same key replaces it. The
// error is an [*Error] or a [*federation.Refusal]: invite_expired, own_hub_id,
// hub_id_taken, pin_taken, peer_rejected, pending_full, invalid_address.
func (h *Hub) Join(ctx context.Context, inv federation.Invitation, user string) (federation.Pending, error) {
	if err := federation.CheckEndpoints(inv.Endpoints); err != nil {
		return federation.Pending{}, err
	}
	err := h.operate(ctx, func(v *view, d *draft) error {
		row, known := v.st.ceremony.row(inv.Pin, v.now)
		if known && row.Joined && row.Hub == inv.Hub && bytes.Equal(row.Invite, inv.Secret[:]) {
			return nil
		}
		if err := v.canJoin(&inv, known); err != nil {
			return err
		}
		d.add(v.now, journal.PeerJoined{
			Hub: string(inv.Hub), Pin: inv.Pin, Endpoints: slices.Clone(inv.Endpoints), Invite: bytes.Clone(inv.Secret[:]), ExpiresUS: inv.ExpiresUS, User: user,
		})
		d.then(func() { v.config.callers.forget(inv.Pin) }) // a stranger until now
		return nil
	})
	if err != nil {
		return federation.Pending{}, err
	}
	rows := h.Pending()
	if at := slices.IndexFunc(rows, func(p federation.Pending) bool { return p.Pin == inv.Pin }); at >= 0 {
		return rows[at], nil
	}
	return federation.Pending{}, noSuchPending(inv.Pin) // decided or expired meanwhile
}

// canJoin decides whether an invitation can be taken; known says that its key
// has a row already.
func (v *view) canJoin(inv *federation.Invitation, known bool) error {
	trust := v.st.trust
	if _, ok := trust.Peer(inv.Hub); ok {
		return &Error{Reason: wire.ReasonHubIDTaken, Text: fmt.Sprintf("%s is an approved peer already", inv.Hub), Next: "fleet peer show " + string(inv.Hub)}
	}
	if err := cmp.Or(federation.CheckHubID(trust, inv.Hub), federation.CheckPins(trust, inv.Hub, []federation.Pin{inv.Pin})); err != nil {
		return err
	}
	for _, p := range waiting(v.st.ceremony.pending, v.now) {
		if p.Joined && p.Pin != inv.Pin && wire.SimilarHubIDs(p.Hub, inv.Hub) {
			return &Error{Reason: wire.ReasonHubIDTaken, Text: fmt.Sprintf("%s is pending with another key", p.Hub)}
		}
	}
	switch {
	case v.now >= inv.ExpiresUS:
		return &Error{Reason: wire.ReasonInviteExpired, Text: "the invitation of " + string(inv.Hub) + " has expired"}
	case trust.Blocked(inv.Pin) == string(wire.ReasonPeerRejected):
		return &Error{Reason: wire.ReasonPeerRejected, Text: "the key of " + string(inv.Hub) + " was rejected here"}
	case !known && v.st.ceremony.full(v.now):
		return &Error{Reason: wire.ReasonPendingFull, Text: fmt.Sprintf("%d hubs are pending", maxPending)}
	}
	return nil
}

// Pending lists who waits for a decision, as of the last synced turn: joined and
// invited ones in the order in which they came, then strangers. The caller owns
// the list. Times counts calls since the start of the process.
func (h *Hub) Pending() []federation.Pending {
	trust, rows := h.published.trusted()
	return h.callers.list(h.opts.Now().UnixMicro(), rows, trust)
}

// Joined lists those of the pending hubs that are to be called: whose invitation
// was taken here. [Forwarder.PeersChanged] tells when the list has changed; that
// a row expires is told by its ExpiresUS alone.
func (h *Hub) Joined() []federation.Pending {
	return keep(h.Pending(), func(p federation.Pending) bool { return p.Joined })
}

// Expired lists the hubs whose invitation was taken here and ended within the last
// day before anybody had decided. They are not called any more.
func (h *Hub) Expired() []federation.Pending {
	_, rows := h.published.trusted()
	return expired(rows, h.opts.Now().UnixMicro())
}

// Approval is an operator's decision to trust a hub.
type Approval struct {
	// Peer holds the compared pins and who may reach what. Hub, endpoints and
	// invite are those of the pending row of a pin where they are not given, or of
	// the peer that has the pin or the hub id already. AddedUS is ignored.
	federation.Peer
	// Replace says that the hub is a peer already and that this changes it: other
	// endpoints, pins or patterns. What waits for it stays.
	Replace bool
	// DryRun decides and changes nothing.
	DryRun bool
}

// Approve makes a hub a peer: its identity by pins, and what it may reach here.
// It ends what was pending for these keys and lifts their rejection and the
// hub's revocation. A key that never called is approved when its hub is given;
// without endpoints that hub is never dialled, and calls. The approval and its
// audit record are one event. The error is an [*Error] or a
// [*federation.Refusal]: no_such_pending, invite_expired,
// wrong_hub_id, and what [federation.CheckNewPeer] and [federation.CheckChangedPeer] refuse.
func (h *Hub) Approve(ctx context.Context, a Approval) (federation.Peer, error) {
	stranger := h.stranger(a.Pins)
	var approved federation.Peer
	err := h.operate(ctx, func(v *view, d *draft) error {
		p, err := a.complete(v, stranger)
		if err != nil {
			return err
		}
		approved = p
		if a.DryRun {
			return nil
		}
		v.narrow(d, &p)
		d.add(v.now, approvalOf(&p))
		d.then(func() { v.config.callers.forget(p.Pins...) })
		approved.AddedUS = v.now
		return nil
	})
	if err != nil {
		return federation.Peer{}, err
	}
	return approved, nil
}

// narrow ends the receipts of a peer's chats that wait for seats which it may not reach any more, all at once: later
// their ends would tell when such a seat comes.
func (v *view) narrow(d *draft, p *federation.Peer) {
	for _, q := range v.st.laneOf(p.Hub).pending.all() {
		if !slices.ContainsFunc(p.MayReach, func(pattern wire.Pattern) bool { return pattern.Matches(q.target) }) {
			v.settle(d, q, journal.ReceiptExpired, nil, wire.ReasonNotPermitted)
		}
	}
}

// stranger finds the row of a stranger by any of its pins.
func (h *Hub) stranger(pins []federation.Pin) federation.Pending {
	now := h.opts.Now().UnixMicro()
	for _, pin := range pins {
		if row, ok := h.callers.find(now, pin); ok {
			return row
		}
	}
	return federation.Pending{}
}

// complete fills in what is known and decides whether the result can be a peer.
func (a Approval) complete(v *view, row federation.Pending) (federation.Peer, error) {
	for _, pin := range a.Pins {
		if held, ok := v.undecided(pin); ok {
			row = held
		}
	}
	p, called := a.Peer, row.Pin != federation.Pin{}
	if called && p.Hub != "" && row.Hub != "" && p.Hub != row.Hub {
		return p, &Error{Reason: wire.ReasonWrongHubID, Text: fmt.Sprintf("the key that was given says it is %s, not %s", row.Hub, p.Hub)}
	}
	p.Hub = cmp.Or(p.Hub, row.Hub)
	before := formerPeer(v.st.trust, p.Hub, p.Pins)
	p.Hub = cmp.Or(p.Hub, before.Hub)
	for _, known := range [][]string{row.Endpoints, before.Endpoints} {
		if len(p.Endpoints) == 0 {
			p.Endpoints = known
		}
	}
	if p.Invite == nil {
		p.Invite = row.Invite
	}
	if len(p.Pins) > 0 && p.Hub == "" {
		return p, v.nobodyHas(p.Pins[0])
	}
	if a.Replace {
		return p, federation.CheckChangedPeer(v.st.trust, p)
	}
	return p, federation.CheckNewPeer(v.st.trust, p)
}

// undecided finds what is known of a key that is not approved: what waits, or what
// was turned away.
func (v *view) undecided(pin federation.Pin) (federation.Pending, bool) {
	if row, ok := v.st.ceremony.row(pin, v.now); ok {
		return row, true
	}
	r, ok := v.st.trust.RejectedPin(pin)
	return federation.Pending{Hub: r.Hub, Pin: r.Pin, Endpoints: r.Endpoints, Invite: r.Invite}, ok
}

// formerPeer finds the approved or revoked peer of a hub id or, without one, of a
// pin; the zero Peer if there is none.
func formerPeer(t *federation.Trust, hub wire.HubID, pins []federation.Pin) federation.Peer {
	known := t.Peers()
	for _, r := range t.Revoked() {
		known = append(known, r.Peer)
	}
	for _, p := range known {
		shares := slices.ContainsFunc(p.Pins, func(pin federation.Pin) bool { return slices.Contains(pins, pin) })
		if p.Hub == hub || (hub == "" && shares) {
			return p
		}
	}
	return federation.Peer{}
}

// nobodyHas refuses a key of which no hub is known.
func (v *view) nobodyHas(pin federation.Pin) error {
	for _, p := range expired(v.st.ceremony.pending, v.now) {
		if p.Pin == pin {
			return &Error{Reason: wire.ReasonInviteExpired, Text: "the invitation of " + string(p.Hub) + " expired before anybody approved it here"}
		}
	}
	return noSuchPending(pin)
}

func noSuchPending(pin federation.Pin) error {
	return &Error{
		Reason: wire.ReasonNoSuchPending,
		Text: "no hub that waits here has the key sha256:" + hex.EncodeToString(pin[:]) +
			"; one that never called is approved with --hub HUB, and --endpoint HOST:PORT if this side is to call it",
	}
}

func approvalOf(p *federation.Peer) journal.PeerApproved {
	rec := journal.PeerApproved{
		Hub: string(p.Hub), Endpoints: slices.Clone(p.Endpoints), Pins: slices.Clone(p.Pins), By: p.By, User: p.User, Invite: slices.Clone(p.Invite),
	}
	for _, pattern := range p.MayReach {
		rec.MayReach = append(rec.MayReach, pattern.String())
	}
	return rec
}

// Rejection is an operator's decision to turn a key away.
type Rejection struct {
	Pin      federation.Pin
	By, User string // the person's name, the account at the admin socket
	DryRun   bool   // decides and changes nothing
}

// Reject turns a pending key away: its row ends, and it is refused by name until
// it is approved, for which what the row said is kept. Rejecting it again changes
// nothing; the result is the rejection that counts. The error is an [*Error]:
// no_such_pending, or pin_taken for the key of an approved peer.
func (h *Hub) Reject(ctx context.Context, r Rejection) (federation.RejectedPin, error) {
	stranger := h.stranger([]federation.Pin{r.Pin})
	var rejected federation.RejectedPin
	err := h.operate(ctx, func(v *view, d *draft) error {
		row, err := r.row(v, stranger)
		rejected = federation.RejectedPin{
			Hub: row.Hub, Pin: r.Pin, Endpoints: row.Endpoints, Invite: row.Invite, By: r.By, User: r.User, AtUS: v.now,
		}
		if before, ok := v.st.trust.RejectedPin(r.Pin); ok {
			rejected = before
			return err
		}
		if err != nil || r.DryRun {
			return err
		}
		d.add(v.now, journal.PeerRejected{
			Hub: string(row.Hub), Pin: r.Pin, Endpoints: slices.Clone(row.Endpoints), Invite: bytes.Clone(row.Invite), By: r.By, User: r.User,
		})
		d.then(func() { v.config.callers.forget(r.Pin) })
		return nil
	})
	if err != nil {
		return federation.RejectedPin{}, err
	}
	return rejected, nil
}

// row finds the row that ends.
func (r *Rejection) row(v *view, stranger federation.Pending) (federation.Pending, error) {
	if hub, ok := v.st.trust.HubOf(r.Pin); ok {
		return stranger, &Error{
			Reason: wire.ReasonPinTaken, Text: "the key is that of the approved peer " + hub + ", whose approval is revoked and not rejected",
			Next: "fleet peer revoke " + hub + " --by NAME --why TEXT",
		}
	}
	if row, ok := v.undecided(r.Pin); ok {
		return row, nil
	}
	if stranger.Pin != r.Pin {
		return stranger, &Error{Reason: wire.ReasonNoSuchPending, Text: "no hub that waits here has the key sha256:" + hex.EncodeToString(r.Pin[:])}
	}
	return stranger, nil
}

// Revocation is an operator's decision to end an approval.
type Revocation struct {
	Hub      wire.HubID
	By, User string // the person's name, the account at the admin socket
	Why      string
	DryRun   bool // decides and changes nothing
}

// Revoke ends the approval of a hub: its keys are refused by name, its links end
// (see [Forwarder.PeersChanged]), and what is queued for it is held until it is
// approved again. Revoking it again changes nothing: already says so, and the
// result is the revocation that counts. The error is an [*Error]: unknown_hub.
func (h *Hub) Revoke(ctx context.Context, r Revocation) (revoked federation.RevokedPeer, already bool, err error) {
	var out federation.RevokedPeer
	var again bool
	err = h.operate(ctx, func(v *view, d *draft) error {
		if out, again = v.st.trust.RevokedPeer(r.Hub); again {
			return nil
		}
		p, approved := v.st.trust.Peer(r.Hub)
		if !approved {
			return &Error{Reason: wire.ReasonUnknownHub, Text: fmt.Sprintf("%q is no approved peer", r.Hub), Next: "fleet peer list"}
		}
		out = federation.RevokedPeer{Peer: p, Revocation: federation.Revocation{RevokedBy: r.By, RevokedUser: r.User, Why: r.Why, RevokedUS: v.now}}
		if !r.DryRun {
			d.add(v.now, journal.PeerRevoked{Hub: string(r.Hub), By: r.By, User: r.User, Why: r.Why})
		}
		return nil
	})
	if err != nil {
		return federation.RevokedPeer{}, false, err
	}
	return out, again, nil
}
