package hub

import (
	"slices"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// knockDepth bounds the calls with an invite that wait for the core. Whoever
// finds no room there calls again.
const knockDepth = 64

// Knock notes the call of a hub that is not approved: with an open invite it
// becomes pending in the journal and uses the invite up, without one it is a
// stranger, kept in memory within narrow bounds. It never blocks.
func (h *Hub) Knock(k federation.Knock) {
	now := h.opts.Now().UnixMicro()
	trust, rows := h.published.trusted()
	if known(trust, k.Pin) {
		return // decided meanwhile
	}
	for _, row := range waiting(rows, now) {
		if row.Pin == k.Pin && (row.Invited || k.Invite == [32]byte{}) {
			h.callers.calledAgain(now, k)
			return
		}
	}
	if k.Invite != ([32]byte{}) {
		if queued, _ := h.in.offer(h.knocks, &knockCommand{knock: k}); queued {
			return
		}
	}
	h.noteStranger(now, k)
}

// noteStranger keeps a caller without an invite, or counts that there is no room.
func (h *Hub) noteStranger(nowUS int64, k federation.Knock) {
	if why := h.callers.stranger(nowUS, k); why != "" {
		h.refusals.note(why, "unknown caller not kept", caller(k))
	}
}

// caller is who called, for the log: the host, and what it says it is.
func caller(k federation.Knock) string {
	if k.Hub == "" {
		return k.Host
	}
	return k.Host + " as " + string(k.Hub)
}

func known(t *federation.Trust, pin federation.Pin) bool {
	_, approved := t.HubOf(pin)
	return approved || t.Blocked(pin) != ""
}

// knockCommand is a call with an invite.
type knockCommand struct {
	small
	knock federation.Knock
}

func (*knockCommand) evidence() evidence { return evidence{command: "knock"} }

func (c *knockCommand) decide(v *view, d *draft) {
	k, callers, refusals, now := c.knock, v.config.callers, v.config.refusals, v.now
	if known(v.st.trust, k.Pin) {
		return
	}
	row, waits := v.st.ceremony.row(k.Pin, now)
	if waits && row.Invited {
		d.then(func() { callers.calledAgain(now, k) })
		return
	}
	inv, why := c.admit(v, row, waits)
	switch {
	case why == "":
		d.add(now, journal.PeerCalled{Hub: string(k.Hub), Pin: k.Pin, Endpoints: slices.Clone(k.Endpoints), Host: k.Host, InviteID: inv.id})
		d.then(func() { callers.forget(k.Pin) }) // a stranger until now
	case waits:
		d.refused(v, why, "call of a pending hub", caller(k))
		d.then(func() { callers.calledAgain(now, k) })
	default:
		d.refused(v, why, "invite not taken", caller(k))
		d.then(func() {
			if why := callers.stranger(now, k); why != "" {
				refusals.note(why, "unknown caller not kept", caller(k))
			}
		})
	}
}

// admit decides whether a call uses its invite up. Only a caller that could be
// approved under the name it gives does.
func (c *knockCommand) admit(v *view, row federation.Pending, waits bool) (*invite, wire.Reason) {
	hub := c.knock.Hub
	if _, err := wire.ParseHubID(string(hub)); err != nil || wire.SimilarHubIDs(hub, v.config.self) || (waits && hub != row.Hub) {
		return nil, wire.ReasonWrongHubID
	}
	inv, why := v.st.ceremony.openInvite(c.knock.Invite, v.now)
	if why != "" {
		return nil, why
	}
	if !waits && v.st.ceremony.full(v.now) {
		return nil, wire.ReasonPendingFull
	}
	return inv, ""
}
