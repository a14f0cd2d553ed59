package federation

import "fleetrelay/hub/wire"

// AdmitInbound decides whether a peer may address a local seat, given by its
// name without a hub. The answer depends on the peer's patterns only and never
// on whether the seat exists or who is connected: not_permitted tells nothing.
// peer_revoked if from was approved and is not any more, unknown_peer if it
// never was. why is "" when ok.
func (t *Trust) AdmitInbound(from wire.HubID, seat string) (ok bool, why wire.Reason) {
	p, known := t.peers[from]
	if !known {
		return false, t.stranger(from, wire.ReasonUnknownPeer)
	}
	for _, pattern := range p.MayReach {
		if pattern.Matches(seat) {
			return true, ""
		}
	}
	return false, wire.ReasonNotPermitted
}

// AdmitOutbound decides whether something for address may be handed to the hub
// to: peer_revoked if that was an approved peer and is not any more, unknown_hub
// if it never was, and not_permitted if the seat is on another hub, since no
// peer carries for a third. What the peer
// admits is decided there. why is "" when ok.
func (t *Trust) AdmitOutbound(to wire.HubID, address wire.Address) (ok bool, why wire.Reason) {
	if _, known := t.peers[to]; !known {
		return false, t.stranger(to, wire.ReasonUnknownHub)
	}
	if address.Hub != to || address.Name == "" {
		return false, wire.ReasonNotPermitted
	}
	return true, ""
}

// stranger is why a hub that is not approved is refused.
func (t *Trust) stranger(hub wire.HubID, otherwise wire.Reason) wire.Reason {
	if _, revoked := t.revoked[hub]; revoked {
		return wire.ReasonPeerRevoked
	}
	return otherwise
}
