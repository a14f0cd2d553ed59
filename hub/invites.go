package hub

import (
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
			return &Error{Reason: wire.ReasonTooManyInvites, Text: fmt.Sprintf("%d invites are open", maxInvites), Next: "fleet peer invite list"}
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

// InviteInfo is an invitation of this hub, without its secret.
type InviteInfo struct {
	ID       string
	By, User string // the person's name, the account at the admin socket
	// CreatedUS and ExpiresUS are in Unix microseconds.
	CreatedUS, ExpiresUS int64
	// Why says why it is not open any more: invite_used, invite_withdrawn or
	// invite_expired; "" while it is open.
	Why wire.Reason
	// UsedBy is the key that called with it, zero if none did, and Hub what its
	// owner called itself.
	UsedBy federation.Pin
	Hub    wire.HubID
}

// Invites lists the open invitations of this hub and the latest closed ones, the
// oldest first.
func (h *Hub) Invites(ctx context.Context) ([]InviteInfo, error) {
	var list []InviteInfo
	err := h.operate(ctx, func(v *view, _ *draft) error {
		for i := range v.st.ceremony.invites {
			list = append(list, v.st.ceremony.invites[i].info(v.now))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (i *invite) info(nowUS int64) InviteInfo {
	return InviteInfo{
		ID: i.id, By: i.by, User: i.user, CreatedUS: i.createdUS, ExpiresUS: i.expiresUS, Why: i.why(nowUS), UsedBy: i.usedBy, Hub: i.usedByHub,
	}
}

// WithdrawInvite ends an open invitation. Who took it already is pending and
// stays so. Withdrawing it again changes nothing. The result is the invitation as
// it is then. The error is an [*Error]: no_such_invite, invite_used,
// invite_expired.
func (h *Hub) WithdrawInvite(ctx context.Context, id, by, user string) (InviteInfo, error) {
	var info InviteInfo
	err := h.operate(ctx, func(v *view, d *draft) error {
		i := v.st.ceremony.invite(id)
		if i == nil {
			return &Error{Reason: wire.ReasonNoSuchInvite, Text: fmt.Sprintf("there is no invitation %q", id), Next: "fleet peer invite list"}
		}
		info = i.info(v.now)
		switch info.Why {
		case "":
			d.add(v.now, journal.InviteWithdrawn{ID: id, By: by, User: user})
			info.Why = wire.ReasonInviteWithdrawn
		case wire.ReasonInviteUsed:
			return &Error{Reason: info.Why, Text: fmt.Sprintf("%s called with it already, and is turned away with fleet peer reject or fleet peer revoke", i.usedByHub), Next: "fleet peer list"}
		case wire.ReasonInviteExpired:
			return &Error{Reason: info.Why, Text: "it has ended by itself", Next: "fleet peer invite list"}
		}
		return nil
	})
	if err != nil {
		return InviteInfo{}, err
	}
	return info, nil
}
