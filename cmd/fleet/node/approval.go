package node

import (
	"slices"
	"strings"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// notApproved gives the refusal of an approval the next step that fits.
func (n *Node) notApproved(err error, in Approval, pin federation.Pin) error {
	changed := *Explain(err)
	before, approved, known := n.formerly(in, pin)
	switch changed.Reason {
	case wire.ReasonHubIDTaken, wire.ReasonPinTaken:
		// A peer of that very id is changed by the same command with --replace; an id that only looks like a peer's is
		// not, as it is another id.
		if approved {
			in.Replace = true
			changed.Next = Command(in.again()...)
		} else if changed.Reason == wire.ReasonHubIDTaken {
			changed.Next = Advice("ask that hub for an id that looks different, or reject its key")
		}
	case wire.ReasonPatternsMissing:
		if known {
			in.MayReach = patternsText(before.MayReach)
			changed.Text = "no --may-reach was given; before, " + string(before.Hub) + " was allowed " + strings.Join(in.MayReach, ", ")
			changed.Next = Command(in.again()...)
		}
	case wire.ReasonNoSuchPending:
		if in.Replace && in.Hub == "" {
			changed.Text = "no hub that waits here has this key; --hub says which peer it is the key of"
			in.Hub = n.mismatched()
			changed.Next = Command(in.again()...)
		}
	}
	return &changed
}

// formerly is the peer that an approval means, approved or revoked before.
func (n *Node) formerly(in Approval, pin federation.Pin) (p federation.Peer, approved, known bool) {
	trust, id := n.hub.Trust(), wire.HubID(in.Hub)
	for _, row := range n.hub.Pending() {
		if id == "" && row.Pin == pin {
			id = row.Hub
		}
	}
	if r, ok := trust.RejectedPin(pin); ok && id == "" {
		id = r.Hub
	}
	if owner, ok := trust.HubOf(pin); ok && id == "" {
		id = wire.HubID(owner)
	}
	for _, r := range trust.Revoked() {
		if id == r.Hub || (id == "" && slices.Contains(r.Pins, pin)) {
			return r.Peer, false, true
		}
	}
	p, approved = trust.Peer(id)
	return p, approved, approved
}

// mismatched is the one peer that shows another key than the approved one, or else the word for a hub id.
func (n *Node) mismatched() string {
	found := []string{}
	for _, p := range n.hub.Trust().Peers() {
		if wire.Reason(n.peer(p).LinkReason) == wire.ReasonPinMismatch {
			found = append(found, string(p.Hub))
		}
	}
	if len(found) != 1 {
		return "HUB"
	}
	return found[0]
}

// again is the command line of this approval.
func (a Approval) again() []string {
	words := []string{"peer", "approve", a.Key}
	if a.Replace {
		words = []string{"peer", "approve", "--replace", a.Key}
	}
	if a.Hub != "" {
		words = append(words, "--hub", a.Hub)
	}
	for _, e := range a.Endpoints {
		words = append(words, "--endpoint", e)
	}
	for _, pattern := range a.MayReach {
		words = append(words, "--may-reach", pattern)
	}
	return append(words, "--by", a.By)
}
