package node

import (
	"strings"
	"time"

	"fleetrelay/hub/wire"
	"fleetrelay/relay"
)

// LinkUp says that records flow.
func (p PeerStatus) LinkUp() bool { return relay.State(p.Link) == relay.Up }

// WaitsThere says that this side is done and the other has not approved this hub, or not by its key.
func (p PeerStatus) WaitsThere() bool {
	switch reason := wire.Reason(p.LinkReason); reason {
	case wire.ReasonCertificateRefused, wire.ReasonPeerPending:
		return true
	case wire.ReasonUnknownPeer, wire.ReasonPeerRevoked:
		return p.LinkRemote
	default:
		return false
	}
}

// Unanswered says that the other side is not there, as far as is known, so that what it decided is not known either.
func (p PeerStatus) Unanswered() bool {
	switch wire.Reason(p.LinkReason) {
	case "", wire.ReasonLinkLost, wire.ReasonHubShutdown:
		return !p.LinkUp()
	default:
		return false
	}
}

// revokedThere says that the other side has revoked its approval and not approved anew, and when it said so, "" if it is not
// known.
func (p PeerStatus) revokedThere() (is bool, at string) {
	if p.LinkRevokedUS != 0 {
		at = " at " + clock(p.LinkRevokedUS)
	}
	return p.WaitsThere() && (at != "" || wire.Reason(p.LinkReason) == wire.ReasonPeerRevoked), at
}

// mendedThere tells words about the hub that says them, of which this side can do nothing.
func mendedThere(reason wire.Reason) bool {
	switch reason {
	case wire.ReasonPeerRejected, wire.ReasonInternalError, wire.ReasonJournalFailed:
		return true
	default:
		return false
	}
}

func clock(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05Z") }

// LinkMeaning says what the state of the link means, "" where the word says it.
func (p PeerStatus) LinkMeaning() string {
	next := ""
	if p.LinkNextUS != 0 {
		next = "; dialled again at " + clock(p.LinkNextUS)
	}
	if is, _ := p.revokedThere(); is {
		return "what is sent meanwhile waits; the link comes up by itself if the other side approves this hub again" + next
	}
	if p.WaitsThere() {
		return "this side is done; the link comes up by itself once the other side has approved this hub" + next
	}
	switch relay.State(p.Link) {
	case relay.Waiting:
		if p.LinkReason == "" {
			return "no link yet: the other hub dials first, then this one" + next
		}
		return "time may mend it" + next
	case relay.Fenced:
		return "an administrator has to settle it, here or there; what is sent meanwhile waits" + next
	case relay.Limited:
		return "connected, but no message passes while the two sides differ about the profile"
	case relay.Unreachable:
		return "it is called without a pause and does not answer"
	case relay.Dialling, relay.Greeting:
		return "a connection is being made"
	}
	return ""
}

// LinkWhy says why a link is down and what to do. Of one that had no time to fail there is nothing to say but what to do.
func (p PeerStatus) LinkWhy() (why string, next Next) {
	reason := wire.Reason(p.LinkReason)
	revoked, at := p.revokedThere()
	switch {
	case revoked:
		return p.Hub + " does not approve this hub any more: it was revoked there" + at,
			Advice("ask its administrator; once they approve the code " + p.Code + " again there, the link comes up by itself")
	case p.WaitsThere():
		return p.Hub + " has not approved this hub yet, or with another key",
			Advice("have its administrator approve the code " + p.Code + " that is shown here; the link then comes up by itself")
	case reason == wire.ReasonPinMismatch && p.LinkRemote:
		return p.Hub + " has approved this hub with another key", Advice("have its administrator compare the pin with the one that fleet status shows here")
	case reason == "":
		return "", Advice("wait some seconds: the link is only being made; look again if it does not come up")
	case reason == wire.ReasonHubShutdown: // the list of reasons speaks to agents
		return p.Hub + " was stopped by its operator", Advice("nothing to do here: it is called again by itself, and the link is up once it runs again")
	case reason == wire.ReasonPinMismatch:
		in := Approval{Key: "FINGERPRINT", Hub: p.Hub, MayReach: p.MayReach, By: "NAME", Replace: true}
		return p.Hub + " shows another key than the one approved here; it is the right one only if its administrator reads you the same fingerprint", Command(in.again()...)
	case reason == wire.ReasonLinkLost && p.LinkAttempts > 0:
		return "no connection to " + strings.Join(p.Endpoints, ", "), Advice("check the endpoint, its UDP port and the network between, if this lasts; it is dialled again by itself")
	}
	info, _ := wire.Explain(reason)
	why, next = strings.TrimSuffix(info.Meaning, "."), Advice(info.Next)
	if p.LinkRemote { // the list explains a word from the side of who says it
		why = p.Hub + " says of its side: " + why
	}
	if p.LinkRemote && mendedThere(reason) {
		next = Advice("have the administrator of " + p.Hub + " look at it there; the link comes up by itself once it is settled")
	}
	return why, next
}
