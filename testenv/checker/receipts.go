package checker

import (
	"fmt"
	"slices"

	"fleetrelay/testenv/clientlog"
)

// receipt is one delivery receipt as told.
type receipt struct {
	from         seat
	seq          uint64
	notification string
	state        string
	content      string // all that it says
}

// The receipt states in the words of the wire and the journal.
const (
	stateDelivered = "immediate_delivered"
	statePending   = "pending"
	stateDeferred  = "deferred"
	stateExpired   = "expired"
)

func receiptOf(who seat, e clientlog.Entry) receipt {
	content := fmt.Sprintf("%d %s %q %q %q", e.Seq, receiptState(e), e.Recipients, e.Reason, e.RemoteHub)
	return receipt{who, e.Seq, e.NotificationID, receiptState(e), content}
}

// receiptState is the journal's word for what a receipt tells.
func receiptState(e clientlog.Entry) string {
	switch {
	case e.Expired:
		return stateExpired
	case e.Delivered && e.Deferred:
		return stateDeferred
	case e.Delivered:
		return stateDelivered
	default:
		return statePending
	}
}

func saysDelivered(state string) bool { return state == stateDelivered || state == stateDeferred }

// verdicts are what one hub says of chats of another hub: a record of the lane back.
type verdicts struct {
	lane  laneKey // its own place
	event uint64
	list  []verdict
}

// verdict is what it says of one chat.
type verdict struct {
	about      uint64 // the chat, in the lane it came in
	state      string
	chatSeq    uint64 // of the chat at the hub whose journal this is, 0 for none
	hubSeq     uint64 // of the chat at the hub that says it
	recipients []string
}

// addSaid reads what a hub says to another hub.
func (j *journal) addSaid(r *Report, e *exportLine) {
	v := &verdicts{lane: laneKey{j.hub, e.Record.Dest, j.epoch, e.Record.LaneSeq}, event: e.Seq}
	for i := range e.Record.Verdicts {
		rec := &e.Record.Verdicts[i]
		v.list = append(v.list, verdict{rec.About, rec.State, rec.ChatSeq, rec.ChatSeq, rec.Recipients})
		if c := j.chats[rec.ChatSeq]; c != nil && c.origin != nil {
			j.saidOf[c.lane] = append(j.saidOf[c.lane], rec.State)
		}
	}
	j.putVerdicts(r, j.said, v)
}

// addHeard reads what another hub says of chats of this one.
func (j *journal) addHeard(r *Report, e *exportLine) {
	if e.Record.Origin == nil {
		return
	}
	v := &verdicts{lane: e.Record.Origin.lane(j.hub), event: e.Seq}
	for i := range e.Record.Verdicts {
		rec := &e.Record.Verdicts[i]
		v.list = append(v.list, verdict{rec.About, rec.State, rec.ChatSeq, rec.HubSeq, rec.Recipients})
		if rec.Tells != "" {
			j.settled[rec.ChatSeq] = append(j.settled[rec.ChatSeq], rec.Tells)
		}
	}
	j.putVerdicts(r, j.heard, v)
}

func (j *journal) putVerdicts(r *Report, lanes map[laneKey]*verdicts, v *verdicts) {
	base := Finding{Hub: j.hub, Seq: v.event}
	if first := lanes[v.lane]; first != nil {
		r.add(base.as(DeliveredTwice, fmt.Sprintf("receipt %d of the lane from %s has the seqs %d and %d", v.lane.seq, v.lane.origin, first.event, v.event)))
		return
	}
	lanes[v.lane] = v
	j.grow(r, base, v.lane)
}

// differs says whether two ends of a lane hold different verdicts in one place.
func (v *verdicts) differs(other *verdicts) bool {
	return !slices.EqualFunc(v.list, other.list, func(a, b verdict) bool {
		return a.about == b.about && a.state == b.state && a.hubSeq == b.hubSeq && slices.Equal(a.recipients, b.recipients)
	})
}
