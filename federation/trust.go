package federation

import (
	"cmp"
	"maps"
	"slices"

	"fleetrelay/hub/wire"
)

// Pin is the SHA-256 of a peer's public key. It is a plain array so that this
// package needs no key material and a [Trust] can be read by who has some.
type Pin = [32]byte

// Peer is an approved hub: who it is, where it is reached, what it may reach.
type Peer struct {
	Hub wire.HubID
	// Endpoints are the HOST:PORT of its links' listener, at most
	// [MaxEndpoints], tried in this order; empty if only it dials.
	Endpoints []string
	// Pins are the keys that prove the hub; any one of them is enough.
	Pins []Pin
	// MayReach are the local seats the peer may address. Without any, nothing
	// that comes from it passes.
	MayReach []wire.Pattern
	// By is the name of the person who approved it, User the account at the
	// admin socket.
	By, User string
	// AddedUS is when, in Unix microseconds.
	AddedUS int64
	// Invite is the secret of the invitation this hub joined by, shown to the
	// peer when it is dialled, nil without one: the peer may not have approved
	// this hub yet. It is not for display.
	Invite []byte
}

func (p Peer) clone() Peer {
	p.Endpoints = slices.Clone(p.Endpoints)
	p.Pins = slices.Clone(p.Pins)
	p.MayReach = slices.Clone(p.MayReach)
	p.Invite = slices.Clone(p.Invite)
	return p
}

// Trust is an immutable snapshot of the approved, the revoked and the rejected,
// safe for concurrent use. Nothing given to it or got from it shares memory
// with it, except the result of [Trust.PinsOf].
type Trust struct {
	self  wire.HubID
	peers map[wire.HubID]Peer
	// revoked and peers have no hub in common.
	revoked map[wire.HubID]RevokedPeer
	// rejected is in the order of rejection. A pin stands in it once, and never
	// one that an approved peer has.
	rejected []RejectedPin
	// owners holds "" for a key that two peers claim. [CheckNewPeer] prevents
	// that; should it happen, such a key proves neither.
	owners map[Pin]wire.HubID
	// blocked says why a key is refused that no approved peer has.
	blocked map[Pin]wire.Reason
}

// NewTrust makes a snapshot with nobody revoked or rejected. Of several peers
// with one hub id the last counts.
func NewTrust(self wire.HubID, peers []Peer) *Trust {
	t := &Trust{self: self, peers: make(map[wire.HubID]Peer, len(peers))}
	for _, p := range peers {
		t.peers[p.Hub] = p.clone()
	}
	return t.indexed()
}

// copied is a snapshot to be altered and then indexed.
func (t *Trust) copied() *Trust {
	c := &Trust{self: t.self, peers: maps.Clone(t.peers), revoked: maps.Clone(t.revoked), rejected: slices.Clone(t.rejected)}
	if c.revoked == nil {
		c.revoked = map[wire.HubID]RevokedPeer{}
	}
	return c
}

// indexed derives what is looked up by key. Whoever is approved is not blocked.
func (t *Trust) indexed() *Trust {
	t.owners = make(map[Pin]wire.HubID, len(t.peers))
	t.blocked = make(map[Pin]wire.Reason, len(t.revoked)+len(t.rejected))
	for hub, p := range t.peers {
		for _, pin := range p.Pins {
			if other, taken := t.owners[pin]; taken && other != hub {
				t.owners[pin] = ""
				continue
			}
			t.owners[pin] = hub
		}
	}
	for _, r := range t.rejected {
		t.blocked[r.Pin] = wire.ReasonPeerRejected
	}
	for _, r := range t.revoked {
		for _, pin := range r.Pins {
			t.blocked[pin] = wire.ReasonPeerRevoked
		}
	}
	for pin := range t.owners {
		delete(t.blocked, pin)
	}
	return t
}

// With returns the snapshot with one peer approved, added or in place of the
// one with its hub id. It lifts the revocation of that hub and the rejection of
// these pins. It checks nothing: what the journal holds was checked by
// [CheckNewPeer] before.
func (t *Trust) With(p Peer) *Trust {
	c := t.copied()
	c.peers[p.Hub] = p.clone()
	delete(c.revoked, p.Hub)
	c.rejected = slices.DeleteFunc(c.rejected, func(r RejectedPin) bool { return slices.Contains(p.Pins, r.Pin) })
	return c.indexed()
}

// without is the snapshot with one peer less, approved or revoked.
func (t *Trust) without(hub wire.HubID) *Trust {
	c := t.copied()
	delete(c.peers, hub)
	delete(c.revoked, hub)
	return c.indexed()
}

// Self is the hub whose trust this is.
func (t *Trust) Self() wire.HubID { return t.self }

// Peer returns an approved peer.
func (t *Trust) Peer(hub wire.HubID) (Peer, bool) {
	p, ok := t.peers[hub]
	return p.clone(), ok
}

// Peers returns all approved peers in the order of their hub ids.
func (t *Trust) Peers() []Peer {
	list := make([]Peer, 0, len(t.peers))
	for _, p := range t.peers {
		list = append(list, p.clone())
	}
	slices.SortFunc(list, func(a, b Peer) int { return cmp.Compare(a.Hub, b.Hub) })
	return list
}

// Len returns the number of approved peers.
func (t *Trust) Len() int { return len(t.peers) }

// PinsOf returns the keys of an approved hub, which the caller does not modify.
func (t *Trust) PinsOf(hubID string) ([]Pin, bool) {
	p, ok := t.peers[wire.HubID(hubID)]
	return p.Pins, ok
}

// HubOf returns the one approved hub that a key proves.
func (t *Trust) HubOf(pin Pin) (string, bool) {
	hub, ok := t.owners[pin]
	return string(hub), ok && hub != ""
}

// Blocked returns the word by which a key is refused that an operator turned
// away, peer_revoked or peer_rejected; "" for any other, approved or unknown.
func (t *Trust) Blocked(pin Pin) string { return string(t.blocked[pin]) }
