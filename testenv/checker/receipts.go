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

// verdict is what one hub says of a chat of another hub: a record of the lane back.
type verdict struct {
	lane       laneKey // its own place
	event      uint64
	about      uint64 // the chat, in the lane it came in
	state      string
	chatSeq    uint64 // of the chat at the hub whose journal this is, 0 for none
	hubSeq     uint64 // of the chat at the hub that says it
	recipients []string
}

// addReceipt reads what a hub tells one of its own, or says to another hub.
func (j *journal) addReceipt(r *Report, e *exportLine) {
	rec := &e.Record
	if rec.Dest == "" {
		j.settled[rec.ChatSeq] = append(j.settled[rec.ChatSeq], rec.State)
		return
	}
	v := &verdict{laneKey{j.hub, rec.Dest, j.epoch, rec.LaneSeq}, e.Seq, rec.About, rec.State, rec.ChatSeq, rec.ChatSeq, rec.Recipients}
	j.putVerdict(r, j.said, v)
	if c := j.chats[v.chatSeq]; c != nil && c.origin != nil {
		j.saidOf[c.lane] = append(j.saidOf[c.lane], v.state)
	}
}

// addVerdict reads what another hub says of a chat of this one.
func (j *journal) addVerdict(r *Report, e *exportLine) {
	rec := &e.Record
	if rec.Origin == nil {
		return
	}
	v := &verdict{rec.Origin.lane(j.hub), e.Seq, rec.About, rec.State, rec.ChatSeq, rec.HubSeq, rec.Recipients}
	j.putVerdict(r, j.heard, v)
	if rec.Tells != "" {
		j.settled[rec.ChatSeq] = append(j.settled[rec.ChatSeq], rec.Tells)
	}
}

func (j *journal) putVerdict(r *Report, lanes map[laneKey]*verdict, v *verdict) {
	base := Finding{Hub: j.hub, Seq: v.event}
	if first := lanes[v.lane]; first != nil {
		r.add(base.as(DeliveredTwice, fmt.Sprintf("verdict %d of the lane from %s has the seqs %d and %d", v.lane.seq, v.lane.origin, first.event, v.event)))
		return
	}
	lanes[v.lane] = v
	j.grow(r, base, v.lane)
}

// differs says whether two ends of a lane hold different verdicts in one place.
func (v *verdict) differs(other *verdict) bool {
	return v.about != other.about || v.state != other.state || v.hubSeq != other.hubSeq || !slices.Equal(v.recipients, other.recipients)
}
