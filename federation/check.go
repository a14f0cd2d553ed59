package federation

import (
	"fmt"
	"slices"

	"fleetrelay/hub/wire"
)

// Refusal says why a peer cannot be added.
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

// CheckNewPeer decides whether a peer can join a snapshot. The error is a
// [*Refusal]: invalid_hub_id, own_hub_id, hub_id_taken (also by an id that only
// differs in case or looks alike), pins_missing, invalid_pin, pin_taken,
// patterns_missing, invalid_pattern.
func CheckNewPeer(t *Trust, p Peer) error {
	if err := checkHubID(t, p.Hub); err != nil {
		return err
	}
	if err := checkPins(t, p); err != nil {
		return err
	}
	return checkPatterns(p)
}

// CheckChangedPeer decides whether an approved peer may be replaced by p: another
// endpoint, other pins, other patterns, the same hub id. The error is a [*Refusal]:
// unknown_hub when there is no such peer, else as of [CheckNewPeer].
func CheckChangedPeer(t *Trust, p Peer) error {
	if _, ok := t.peers[p.Hub]; !ok {
		return refuse(wire.ReasonUnknownHub, "There is no peer %s to change.", p.Hub)
	}
	return CheckNewPeer(t.without(p.Hub), p)
}

func checkHubID(t *Trust, hub wire.HubID) error {
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
	return nil
}

func checkPins(t *Trust, p Peer) error {
	if len(p.Pins) == 0 {
		return refuse(wire.ReasonPinsMissing, "No key pin was given for %s.", p.Hub)
	}
	for i, pin := range p.Pins {
		if pin == (Pin{}) || slices.Contains(p.Pins[:i], pin) {
			return refuse(wire.ReasonInvalidPin, "A pin of %s is zero or given twice.", p.Hub)
		}
		if _, taken := t.owners[pin]; taken {
			return refuse(wire.ReasonPinTaken, "A pin given for %s belongs to the peer %s.", p.Hub, t.owners[pin])
		}
	}
	return nil
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
