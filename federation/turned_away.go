package federation

import (
	"cmp"
	"slices"

	"fleetrelay/hub/wire"
)

// MaxRejected bounds the rejected pins that are remembered; the oldest is
// forgotten, and is then an unknown key like any other.
const MaxRejected = 1024

// RevokedPeer is a hub that was approved and is not any more. What is queued
// for it is held until it is approved again.
type RevokedPeer struct {
	Peer // as it was approved

	Revocation
}

// Revocation says who ended an approval, and when.
type Revocation struct {
	// RevokedBy is the person's name, RevokedUser the account at the admin
	// socket, Why what they gave as the cause.
	RevokedBy, RevokedUser, Why string
	// RevokedUS is when, in Unix microseconds.
	RevokedUS int64
}

// RejectedPin is a key that an operator turned away without ever approving it.
type RejectedPin struct {
	// Hub is what the key's owner said it is, "" if nothing.
	Hub wire.HubID
	Pin Pin
	// Endpoints are where it said it is reached, or where its invitation said so.
	Endpoints []string
	// Invite is the secret of its invitation, nil unless that was taken here. Not
	// for display.
	Invite []byte
	// By is the person's name, User the account at the admin socket.
	By, User string
	// AtUS is when, in Unix microseconds.
	AtUS int64
}

func (r RejectedPin) clone() RejectedPin {
	r.Endpoints, r.Invite = slices.Clone(r.Endpoints), slices.Clone(r.Invite)
	return r
}

// Revoke returns the snapshot in which an approved peer is revoked: its pins
// are refused by name, nothing passes to or from it. The snapshot itself if
// there is no such approved peer.
func (t *Trust) Revoke(hub wire.HubID, r Revocation) *Trust {
	p, ok := t.peers[hub]
	if !ok {
		return t
	}
	c := t.copied()
	delete(c.peers, hub)
	c.revoked[hub] = RevokedPeer{p, r}
	return c.indexed()
}

// Reject returns the snapshot in which a key is refused by name. The snapshot
// itself for a key of an approved peer, which is revoked and not rejected. A
// key rejected again counts as rejected now.
func (t *Trust) Reject(r RejectedPin) *Trust {
	if _, approved := t.owners[r.Pin]; approved {
		return t
	}
	c := t.copied()
	c.rejected = slices.DeleteFunc(c.rejected, func(old RejectedPin) bool { return old.Pin == r.Pin })
	c.rejected = append(c.rejected, r.clone())
	c.rejected = c.rejected[max(0, len(c.rejected)-MaxRejected):]
	return c.indexed()
}

// RestoreTrust makes a snapshot of what [Trust.Peers], [Trust.Revoked] and
// [Trust.Rejected] returned. Whatever could not stand beside another is left
// out: a revocation of an approved hub, the rejection of an approved key or of a
// key rejected again later, rejections beyond [MaxRejected].
func RestoreTrust(self wire.HubID, peers []Peer, revoked []RevokedPeer, rejected []RejectedPin) *Trust {
	t := NewTrust(self, peers).copied()
	for _, r := range revoked {
		if _, approved := t.peers[r.Hub]; !approved {
			t.revoked[r.Hub] = RevokedPeer{r.clone(), r.Revocation}
		}
	}
	last := make(map[Pin]int, len(rejected))
	for i, r := range rejected {
		last[r.Pin] = i
	}
	t = t.indexed()
	for i, r := range rejected {
		if _, approved := t.owners[r.Pin]; !approved && last[r.Pin] == i {
			t.rejected = append(t.rejected, r.clone())
		}
	}
	t.rejected = t.rejected[max(0, len(t.rejected)-MaxRejected):]
	return t.indexed()
}

// RevokedPeer returns one revoked peer.
func (t *Trust) RevokedPeer(hub wire.HubID) (RevokedPeer, bool) {
	r, ok := t.revoked[hub]
	r.Peer = r.clone()
	return r, ok
}

// Revoked returns all revoked peers in the order of their hub ids.
func (t *Trust) Revoked() []RevokedPeer {
	list := make([]RevokedPeer, 0, len(t.revoked))
	for _, r := range t.revoked {
		r.Peer = r.clone()
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b RevokedPeer) int { return cmp.Compare(a.Hub, b.Hub) })
	return list
}

// Rejected returns the rejected pins in the order of their rejection.
func (t *Trust) Rejected() []RejectedPin {
	list := make([]RejectedPin, len(t.rejected))
	for i, r := range t.rejected {
		list[i] = r.clone()
	}
	return list
}

// RejectedPin returns the rejection of one key.
func (t *Trust) RejectedPin(pin Pin) (RejectedPin, bool) {
	at := slices.IndexFunc(t.rejected, func(r RejectedPin) bool { return r.Pin == pin })
	if at < 0 {
		return RejectedPin{}, false
	}
	return t.rejected[at].clone(), true
}
