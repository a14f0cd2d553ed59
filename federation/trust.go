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
	// Endpoint is HOST:PORT of its links' listener; "" if only it dials.
	Endpoint string
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
}

func (p Peer) clone() Peer {
	p.Pins = slices.Clone(p.Pins)
	p.MayReach = slices.Clone(p.MayReach)
	return p
}

// Trust is an immutable snapshot of the approved peers, safe for concurrent
// use. Nothing given to it or got from it shares memory with it, except the
// result of [Trust.PinsOf].
type Trust struct {
	self  wire.HubID
	peers map[wire.HubID]Peer
	// owners holds "" for a key that two peers claim. [CheckNewPeer] prevents
	// that; should it happen, such a key proves neither.
	owners map[Pin]wire.HubID
}

// NewTrust makes a snapshot. Of several peers with one hub id the last counts.
func NewTrust(self wire.HubID, peers []Peer) *Trust {
	byHub := make(map[wire.HubID]Peer, len(peers))
	for _, p := range peers {
		byHub[p.Hub] = p.clone()
	}
	return newTrust(self, byHub)
}

func newTrust(self wire.HubID, peers map[wire.HubID]Peer) *Trust {
	owners := make(map[Pin]wire.HubID, len(peers))
	for hub, p := range peers {
		for _, pin := range p.Pins {
			if other, taken := owners[pin]; taken && other != hub {
				owners[pin] = ""
				continue
			}
			owners[pin] = hub
		}
	}
	return &Trust{self: self, peers: peers, owners: owners}
}

// With returns the snapshot with one peer added, or replaced if its hub id is
// there already. It checks nothing: what the journal holds was checked by
// [CheckNewPeer] before.
func (t *Trust) With(p Peer) *Trust {
	peers := maps.Clone(t.peers)
	peers[p.Hub] = p.clone()
	return newTrust(t.self, peers)
}

// without is the snapshot with one peer less.
func (t *Trust) without(hub wire.HubID) *Trust {
	peers := maps.Clone(t.peers)
	delete(peers, hub)
	return newTrust(t.self, peers)
}

// Self is the hub whose trust this is.
func (t *Trust) Self() wire.HubID { return t.self }

// Peer returns an approved peer.
func (t *Trust) Peer(hub wire.HubID) (Peer, bool) {
	p, ok := t.peers[hub]
	return p.clone(), ok
}

// Peers returns all peers in the order of their hub ids.
func (t *Trust) Peers() []Peer {
	list := make([]Peer, 0, len(t.peers))
	for _, p := range t.peers {
		list = append(list, p.clone())
	}
	slices.SortFunc(list, func(a, b Peer) int { return cmp.Compare(a.Hub, b.Hub) })
	return list
}

// Len returns the number of peers.
func (t *Trust) Len() int { return len(t.peers) }

// PinsOf returns the keys of an approved hub, which the caller does not modify.
func (t *Trust) PinsOf(hubID string) ([]Pin, bool) {
	p, ok := t.peers[wire.HubID(hubID)]
	return p.Pins, ok
}

// HubOf returns the one hub that a key proves.
func (t *Trust) HubOf(pin Pin) (string, bool) {
	hub, ok := t.owners[pin]
	return string(hub), ok && hub != ""
}
