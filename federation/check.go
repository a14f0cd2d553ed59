package federation

import (
	"fmt"
	"slices"

	"fleetrelay/hub/wire"
)

// Refusal says why a peer or an invitation cannot be taken.
type Refusal struct {
	Reason wire.Reason
	// Text is a sentence for the operator.
	Text string
}

// Error returns the word and the sentence.
func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }

// WireReason returns the word.
func (r *Refusal) WireReason() wire.Reason { return r.Reason }

func refuse(reason wire.Reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// CheckNewPeer decides whether a peer can join a snapshot, or rejoin it after
// its revocation, by the same keys or new ones. The error is a [*Refusal]:
// invalid_hub_id, own_hub_id, hub_id_taken (also by an id that only differs in
// case or looks alike), pins_missing, invalid_pin, pin_taken, patterns_missing,
// invalid_pattern, invalid_address (of an endpoint), invalid_invite. What a
// revoked peer had stays taken for others: its lane is held for it alone.
func CheckNewPeer(t *Trust, p Peer) error {
	if err := CheckHubID(t, p.Hub); err != nil {
		return err
	}
	if err := CheckPins(t, p.Hub, p.Pins); err != nil {
		return err
	}
	if err := checkPatterns(p); err != nil {
		return err
	}
	if len(p.Invite) != 0 && len(p.Invite) != InviteBytes {
		return refuse(wire.ReasonInvalidInvite, "The invitation's secret has %d bytes and not %d.", len(p.Invite), InviteBytes)
	}
	return CheckEndpoints(p.Endpoints)
}

// CheckChangedPeer decides whether an approved or revoked peer may be replaced
// by p: other endpoints, other pins, other patterns, the same hub id. The error
// is a [*Refusal]: unknown_hub when there is no such peer, else as of
// [CheckNewPeer].
func CheckChangedPeer(t *Trust, p Peer) error {
	_, approved := t.peers[p.Hub]
	if _, revoked := t.revoked[p.Hub]; !approved && !revoked {
		return refuse(wire.ReasonUnknownHub, "There is no peer %s to change.", p.Hub)
	}
	return CheckNewPeer(t.without(p.Hub), p)
}

// CheckHubID decides whether a hub of this id can become a peer. The error is a
// [*Refusal]: invalid_hub_id, own_hub_id, hub_id_taken.
func CheckHubID(t *Trust, hub wire.HubID) error {
	if _, err := wire.ParseHubID(string(hub)); err != nil {
		return refuse(wire.ReasonInvalidHubID, "%q is not a hub id.", hub)
	}
	if wire.SimilarHubIDs(hub, t.self) {
		return refuse(wire.ReasonOwnHubID, "The hub id %s is this hub's own %s, or looks like it.", hub, t.self)
	}
	for _, other := range t.Peers() {
		if wire.SimilarHubIDs(hub, other.Hub) {
			return refuse(wire.ReasonHubIDTaken, "The hub id %s is taken by the peer %s, or looks like it.", hub, other.Hub)
		}
	}
	for _, other := range t.Revoked() {
		if hub != other.Hub && wire.SimilarHubIDs(hub, other.Hub) {
			return refuse(wire.ReasonHubIDTaken, "The hub id %s looks like that of the revoked peer %s.", hub, other.Hub)
		}
	}
	return nil
}

// CheckPins decides whether these keys can prove hub. The error is a [*Refusal]:
// pins_missing, invalid_pin, pin_taken.
func CheckPins(t *Trust, hub wire.HubID, pins []Pin) error {
	if len(pins) == 0 {
		return refuse(wire.ReasonPinsMissing, "No key pin was given for %s.", hub)
	}
	for i, pin := range pins {
		if pin == (Pin{}) || slices.Contains(pins[:i], pin) {
			return refuse(wire.ReasonInvalidPin, "A pin of %s is zero or given twice.", hub)
		}
		if owner, taken := t.ownerOf(pin); taken && owner != hub {
			return refuse(wire.ReasonPinTaken, "A pin given for %s belongs to the peer %s.", hub, owner)
		}
	}
	return nil
}

// ownerOf is the hub that has a pin, approved or revoked.
func (t *Trust) ownerOf(pin Pin) (wire.HubID, bool) {
	if hub, ok := t.owners[pin]; ok {
		return hub, true
	}
	for hub, r := range t.revoked {
		if slices.Contains(r.Pins, pin) {
			return hub, true
		}
	}
	return "", false
}

func checkPatterns(p Peer) error {
	if len(p.MayReach) == 0 {
		return refuse(wire.ReasonPatternsMissing, "No may-reach pattern was given for %s, so nothing from it would pass.", p.Hub)
	}
	for _, pattern := range p.MayReach {
		if pattern.String() == "" {
			return refuse(wire.ReasonInvalidPattern, "A may-reach pattern of %s is empty.", p.Hub)
		}
	}
	return nil
}
