package checker

import (
	"strings"

	"fleetrelay/testenv/clientlog"
)

// seat names an application: a seat name means something on its hub only.
type seat struct{ hub, name string }

// messageKey names one message as its sender knows it.
type messageKey struct {
	from seat
	id   string // client_msg_id, never empty
}

// recordKey names one record of one journal.
type recordKey struct {
	hub string
	seq uint64
}

// laneKey names one record of a lane, the same on both hubs.
type laneKey struct {
	origin, dest, epoch string
	seq                 uint64
}

// message is everything the logs and journals say about one (sender, client_msg_id).
type message struct {
	to       string
	digest   string
	asked    bool // a receipt
	sends    int
	refusals int
	told     uint64 // the first seq told, 0 when none was
	records  int    // in the journal of the sender's hub
	lost     bool   // reported
	got      map[seat]int
}

// told is an own copy: the hub's statement that a chat is in its journal.
type told struct {
	from       seat
	id, digest string
	to         string
	seq, msgID uint64
}

// got is one message an application was handed.
type got struct {
	to         seat
	sender     string
	id, digest string
	seq, msgID uint64
}

// connKey names one connection of one log file.
type connKey struct {
	file int
	conn uint64
}

// facts is all evidence, indexed.
type facts struct {
	seats    map[seat]bool
	groups   map[seat]bool // projects and roles that some client answers to
	messages map[messageKey]*message
	sent     map[connKey][]messageKey // in the order of sending
	told     []told
	received [][]got // per file, in the order of the application
	receipts []receipt
	journals map[string]*journal
	handed   map[delivery]int   // how often an application was handed a record
	lost     map[recordKey]bool // reported
}

// delivery is one record in front of one application.
type delivery struct {
	record recordKey
	to     seat
}

func newFacts() *facts {
	return &facts{
		seats: map[seat]bool{}, groups: map[seat]bool{}, messages: map[messageKey]*message{},
		sent: map[connKey][]messageKey{}, journals: map[string]*journal{},
		handed: map[delivery]int{}, lost: map[recordKey]bool{},
	}
}

func (f *facts) message(from seat, id string) *message {
	key := messageKey{from, id}
	m := f.messages[key]
	if m == nil {
		m = &message{got: map[seat]int{}}
		f.messages[key] = m
	}
	return m
}

// join notes a seat and the groups it answers to.
func (f *facts) join(s seat, roles []string) {
	f.seats[s] = true
	if project, _, nested := strings.Cut(s.name, "/"); nested {
		f.groups[seat{s.hub, project}] = true
	}
	for _, role := range roles {
		f.groups[seat{s.hub, role}] = true
	}
}

// recipient resolves a target that addresses exactly one seat. Lists, patterns, broadcasts, and a project or role that
// some client answers to are not single seats.
func (f *facts) recipient(target, senderHub string) (seat, bool) {
	if target == "" || target == "all" || strings.ContainsAny(target, ",*?[") {
		return seat{}, false
	}
	s := seat{senderHub, strings.TrimSpace(target)}
	if at := strings.LastIndexByte(target, '@'); at >= 0 {
		s = seat{target[at+1:], target[:at]}
	}
	if !f.seats[s] && f.groups[s] {
		return seat{}, false
	}
	return s, true
}

// record adds one client log entry of the file with this number.
func (f *facts) record(r *Report, file int, e clientlog.Entry) {
	who := seat{e.Hub, e.Who}
	switch e.Kind {
	case clientlog.Joined:
		f.join(who, e.Roles)
	case clientlog.Sent:
		f.recordSent(r, who, file, e)
	case clientlog.Accepted:
		f.recordAccepted(who, e)
	case clientlog.Refused:
		r.Totals.Refused++
		if e.ClientMsgID != "" {
			f.message(who, e.ClientMsgID).refusals++
		}
	case clientlog.Received:
		f.join(who, nil)
		f.received[file] = append(f.received[file], got{who, e.Sender, e.ClientMsgID, e.Digest, e.Seq, e.MsgID})
	case clientlog.Receipt:
		r.Totals.Receipts++
		f.receipts = append(f.receipts, receiptOf(who, e))
	default:
		r.incomplete("%s@%s: a log entry of an unknown kind", e.Who, e.Hub)
	}
}

func (f *facts) recordSent(r *Report, who seat, file int, e clientlog.Entry) {
	f.join(who, nil)
	r.Totals.Sends++
	if e.ClientMsgID == "" {
		return
	}
	m := f.message(who, e.ClientMsgID)
	m.sends++
	m.asked = m.asked || e.Asked
	if m.sends == 1 {
		m.to, m.digest = e.To, e.Digest
	} else if m.to != e.To || m.digest != e.Digest {
		r.add(Finding{Word: Contradiction, Hub: who.hub, From: who.name, To: e.To, ID: e.ClientMsgID, Detail: "one client_msg_id was sent with two contents"})
	}
	on := connKey{file, e.Conn}
	f.sent[on] = append(f.sent[on], messageKey{who, e.ClientMsgID})
}

func (f *facts) recordAccepted(who seat, e clientlog.Entry) {
	f.told = append(f.told, told{who, e.ClientMsgID, e.Digest, e.To, e.Seq, e.MsgID})
	if e.ClientMsgID == "" {
		return
	}
	m := f.message(who, e.ClientMsgID)
	if m.told == 0 {
		m.told = e.Seq
	}
}
