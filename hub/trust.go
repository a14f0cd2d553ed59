package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// InviteRequest asks for an invitation.
type InviteRequest struct {
	By, User string // the person's name, the account at the admin socket
	// Endpoints are where this hub's links are reached, at least one, and Pin its
	// own key.
	Endpoints []string
	Pin       federation.Pin
	TTL       time.Duration // DefaultInviteTTL if zero, at most MaxInviteTTL
}

// Invite makes an invitation that one other hub may use once. Its token is a
// secret: it is returned here and nowhere else, only a hash of it is kept. It
// approves nobody. The error is an [*Error] or a [*federation.Refusal]:
// too_many_invites, invalid_address, wrong_usage.
func (h *Hub) Invite(ctx context.Context, r InviteRequest) (inv federation.Invitation, id string, err error) {
	r.TTL = orDefault(r.TTL, DefaultInviteTTL)
	if err := r.check(); err != nil {
		return inv, "", err
	}
	var raw [4 + federation.InviteBytes]byte
	if _, err := io.ReadFull(h.opts.Rand, raw[:]); err != nil {
		return inv, "", fmt.Errorf("hub: random invite: %w", err)
	}
	made := federation.Invitation{Hub: h.opts.HubID, Pin: r.Pin, Endpoints: slices.Clone(r.Endpoints)}
	copy(made.Secret[:], raw[4:])
	id = hex.EncodeToString(raw[:4])
	err = h.operate(ctx, func(v *view, d *draft) error {
		switch c := &v.st.ceremony; {
		case c.openInvites(v.now) >= maxInvites:
			return &Error{Reason: wire.ReasonTooManyInvites, Text: fmt.Sprintf("%d invites are open", maxInvites)}
		case c.invite(id) != nil:
			return &Error{Reason: wire.ReasonInternalError, Text: "invite id taken", Next: "try again"}
		}
		made.ExpiresUS = v.now + r.TTL.Microseconds()
		d.add(v.now, journal.InviteCreated{ID: id, Hash: made.Hash(), By: r.By, User: r.User, ExpiresUS: made.ExpiresUS})
		return nil
	})
	if err != nil {
		return inv, "", err
	}
	return made, id, nil
}

func (r *InviteRequest) check() error {
	if r.TTL < time.Second || r.TTL > MaxInviteTTL {
		return &Error{Reason: wire.ReasonWrongUsage, Text: fmt.Sprintf("an invite is open for a second to %s, not %s", MaxInviteTTL, r.TTL)}
	}
	if len(r.Endpoints) == 0 {
		return &Error{Reason: wire.ReasonInvalidAddress, Text: "an invitation says where this hub is reached, and no endpoint was given"}
	}
	return federation.CheckEndpoints(r.Endpoints)
}

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

// Approval is an operator's decision to trust a hub.
type Approval struct {
	// Peer holds the compared pins and who may reach what. Hub, endpoints and
	// invite are those of the pending row of a pin where they are not given, or of
	// the peer that has the pin or the hub id already. AddedUS is ignored.
	federation.Peer
	// Replace says that the hub is a peer already and that this changes it: other
	// endpoints, pins or patterns. What waits for it stays.
	Replace bool
}

// Approve makes a hub a peer: its identity by pins, and what it may reach here.
// It ends what was pending for these keys and lifts their rejection and the
// hub's revocation. A key that never called is approved when hub and endpoints
// are given. The approval and its audit record are one event. The error is an
// [*Error] or a [*federation.Refusal]: no_such_pending, wrong_hub_id, and what
// [federation.CheckNewPeer] and [federation.CheckChangedPeer] refuse.
func (h *Hub) Approve(ctx context.Context, a Approval) (federation.Peer, error) {
	stranger := h.stranger(a.Pins)
	var approved federation.Peer
	err := h.operate(ctx, func(v *view, d *draft) error {
		p, err := a.complete(v, stranger)
		if err != nil {
			return err
		}
		d.add(v.now, approvalOf(&p))
		d.then(func() { v.config.callers.forget(p.Pins...) })
		p.AddedUS = v.now
		approved = p
		return nil
	})
	if err != nil {
		return federation.Peer{}, err
	}
	return approved, nil
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
		if held, ok := v.st.ceremony.row(pin, v.now); ok {
			row = held
		}
	}
	p, called := a.Peer, row.Pin != federation.Pin{}
	if called && p.Hub != "" && row.Hub != "" && p.Hub != row.Hub {
		return p, &Error{Reason: wire.ReasonWrongHubID, Text: fmt.Sprintf("the key that was given says it is %s, not %s", row.Hub, p.Hub)}
	}
	p.Hub = cmp.Or(p.Hub, row.Hub)
	before, had := formerPeer(v.st.trust, p.Hub, p.Pins)
	p.Hub = cmp.Or(p.Hub, before.Hub)
	for _, known := range [][]string{row.Endpoints, before.Endpoints} {
		if len(p.Endpoints) == 0 {
			p.Endpoints = known
		}
	}
	if p.Invite == nil {
		p.Invite = row.Invite
	}
	if len(p.Pins) > 0 && (p.Hub == "" || (!called && !had && len(p.Endpoints) == 0)) {
		return p, noSuchPending(p.Pins[0])
	}
	if a.Replace {
		return p, federation.CheckChangedPeer(v.st.trust, p)
	}
	return p, federation.CheckNewPeer(v.st.trust, p)
}

// formerPeer finds the approved or revoked peer of a hub id or, without one, of a
// pin.
func formerPeer(t *federation.Trust, hub wire.HubID, pins []federation.Pin) (federation.Peer, bool) {
	known := t.Peers()
	for _, r := range t.Revoked() {
		known = append(known, r.Peer)
	}
	for _, p := range known {
		shares := slices.ContainsFunc(p.Pins, func(pin federation.Pin) bool { return slices.Contains(pins, pin) })
		if p.Hub == hub || (hub == "" && shares) {
			return p, true
		}
	}
	return federation.Peer{}, false
}

func noSuchPending(pin federation.Pin) error {
	return &Error{Reason: wire.ReasonNoSuchPending, Text: "no pending hub has the key sha256:" + hex.EncodeToString(pin[:])}
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

// Reject turns a pending key away: its row ends, and it is refused by name until
// it is approved. Rejecting it again changes nothing. The error is an [*Error]:
// no_such_pending, or pin_taken for the key of an approved peer.
func (h *Hub) Reject(ctx context.Context, pin federation.Pin, by, user string) error {
	stranger := h.stranger([]federation.Pin{pin})
	return h.operate(ctx, func(v *view, d *draft) error {
		if hub, ok := v.st.trust.HubOf(pin); ok {
			return &Error{Reason: wire.ReasonPinTaken, Text: "the key is that of the approved peer " + hub}
		}
		row, ok := v.st.ceremony.row(pin, v.now)
		if !ok {
			row = stranger
		}
		if row.Pin != pin {
			if v.st.trust.Blocked(pin) == string(wire.ReasonPeerRejected) {
				return nil
			}
			return noSuchPending(pin)
		}
		d.add(v.now, journal.PeerRejected{Hub: string(row.Hub), Pin: pin, By: by, User: user})
		d.then(func() { v.config.callers.forget(pin) })
		return nil
	})
}

// Revoke ends the approval of a hub: its keys are refused by name, its links end
// (see [Forwarder.PeersChanged]), and what is queued for it is held until it is
// approved again. Revoking it again changes nothing. The error is an [*Error]:
// unknown_hub.
func (h *Hub) Revoke(ctx context.Context, hub wire.HubID, by, user, why string) error {
	return h.operate(ctx, func(v *view, d *draft) error {
		if _, revoked := v.st.trust.RevokedPeer(hub); revoked {
			return nil
		}
		if _, approved := v.st.trust.Peer(hub); !approved {
			return &Error{Reason: wire.ReasonUnknownHub, Text: fmt.Sprintf("%q is no approved peer", hub), Next: "fleet peer list"}
		}
		d.add(v.now, journal.PeerRevoked{Hub: string(hub), By: by, User: user, Why: why})
		return nil
	})
}
