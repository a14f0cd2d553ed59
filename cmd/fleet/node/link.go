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
	default:
		return p.LinkRemote && reason == wire.ReasonUnknownPeer
	}
}

// LinkMeaning says what the state of the link means, "" where the word says it.
func (p PeerStatus) LinkMeaning() string {
	next := ""
	if p.LinkNextUS != 0 {
		next = "; dialled again at " + time.UnixMicro(p.LinkNextUS).UTC().Format("2006-01-02 15:04:05Z")
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
	switch {
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
	return strings.TrimSuffix(info.Meaning, "."), Advice(info.Next)
}
