package wire

import (
	"bytes"
	"crypto/sha256"
	"unicode"
)

// Bounds of a chat.
const (
	// MaxClientMsgIDBytes bounds a retry id, counted in UTF-8 bytes after
	// trimming.
	MaxClientMsgIDBytes = 256
	// carriedSlack is what a carried body may exceed a frame's bound by: the
	// member client_timestamp is longer than the timestamp it came from.
	carriedSlack = 64
)

// Chat is one chat of an agent, ready to be decided on.
//
// Body is its carried body: an object of the chat's members in their order, values
// byte for byte, without the members the hub owns (sender, target, type, token,
// timestamp, hub_id, msg_id, seq, replayed, and a client_timestamp of the client's
// own). client_msg_id stands in it normalised or not at all; client_timestamp, made
// from the client's timestamp, comes last.
type Chat struct {
	Target           string
	HasTarget        bool // an absent target stays absent in the relayed frame
	Body             []byte
	Digest           [32]byte // SHA-256 of Body
	ClientMsgID      string   // "" when absent or not acceptable
	ClientTimestamp  string   // raw number text, "" when absent
	ReceiptRequested bool
	Answer           *Answer // nil unless the chat is a structured answer
}

// Answer is the structured part of a chat that answers an earlier one.
type Answer struct {
	ToSeq  uint64 // sequence of the chat answered, at least 1
	Status string // one of AnswerStatuses
	Scope  string // one of AnswerScopes
}

// Values of response_evidence_scope.
const (
	// ScopeRecipient is an answer by an addressee of the chat answered.
	ScopeRecipient = "recipient"
	// ScopeOperator is an operator's remark about it.
	ScopeOperator = "operator_commentary"
)

// AnswerStatuses lists the values of response_status.
func AnswerStatuses() []string {
	return []string{"acknowledged", "in_progress", "needs_input", "declined", "completed"}
}

// AnswerScopes lists the values of response_evidence_scope.
func AnswerScopes() []string { return []string{ScopeRecipient, ScopeOperator} }

// Chat reads the frame as a chat. The result is the caller's own: nothing of it
// aliases the frame. Refused are a non-blank channel (a channel chat must never
// become a public one), half or wrong structured answers, and targets above the
// bounds; a refused chat still has ClientMsgID and ClientTimestamp, so that the error
// frame can name it.
func (in *Inbound) Chat() (Chat, *FrameError) {
	o := &in.Object
	c := Chat{Target: in.Target, HasTarget: in.HasTarget}
	id, _ := o.Get(memberClientMsgID)
	c.ClientMsgID = clientMsgID(id)
	stamp, _ := o.Get(memberTimestamp)
	if usableTimestamp(stamp) {
		c.ClientTimestamp = string(stamp)
	}
	answer, bad := in.refused()
	if bad != nil {
		return c, bad
	}
	c.Answer = answer
	receipt, _ := o.Get(memberReceiptRequested)
	c.ReceiptRequested = receipt.Truthy()
	c.Body = o.carried(c.ClientMsgID, c.ClientTimestamp)
	c.Digest = sha256.Sum256(c.Body)
	return c, nil
}

func (in *Inbound) refused() (*Answer, *FrameError) {
	if in.Object.hasChannel() {
		return nil, &FrameError{
			Reason: ReasonUnsupportedChannel,
			Text:   "This hub has no channels; the message was not sent.",
		}
	}
	if !targetBounded(in.Target) {
		return nil, &FrameError{
			Reason: ReasonInvalidAddress,
			Text:   "The target is too long or lists too many recipients.",
		}
	}
	answer, ok := in.Object.answer()
	if !ok {
		return nil, &FrameError{
			Reason: ReasonInvalidAnswer,
			Text:   "A structured answer needs response_to_seq, response_status and response_evidence_scope, each with a listed value.",
		}
	}
	return answer, nil
}

// hasChannel tells whether the object names a channel; blank and null do not.
func (o *Object) hasChannel() bool {
	v, ok := o.value(memberChannel)
	if !ok {
		return false
	}
	s, isText := v.Text()
	return !isText || trim(s) != ""
}

// answer reads the structured answer: nil when none of its members is present, and
// ok false when they are incomplete or hold unlisted values. null is absent.
func (o *Object) answer() (a *Answer, ok bool) {
	to, hasTo := o.value(memberResponseTo)
	status, hasStatus := o.value(memberResponseStatus)
	scope, hasScope := o.value(memberResponseScope)
	if !hasTo && !hasStatus && !hasScope {
		return nil, true
	}
	n, isInt := to.Int()
	a = &Answer{Status: listed(status, AnswerStatuses()), Scope: listed(scope, AnswerScopes())}
	if !isInt || n < 1 || a.Status == "" || a.Scope == "" {
		return nil, false
	}
	a.ToSeq = uint64(n)
	return a, true
}

func listed(v Raw, values []string) string {
	s, _ := v.Text()
	for _, known := range values {
		if s == known {
			return known
		}
	}
	return ""
}

// clientMsgID normalises a retry id; "" means that the member is dropped.
func clientMsgID(v Raw) string {
	s, _ := v.Text()
	s = trim(s)
	if len(s) > MaxClientMsgIDBytes {
		return ""
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return ""
		}
	}
	return s
}

func usableTimestamp(v Raw) bool {
	f, ok := v.Float()
	return ok && f != 0
}

// ownedByHub lists the members a sender cannot set in a relayed chat.
func ownedByHub(name string) bool {
	switch name {
	case memberSender, memberTarget, memberType, memberToken, memberTimestamp,
		memberHubID, memberMsgID, memberSeq, memberReplayed:
		return true
	}
	return false
}

func (o *Object) carried(msgID, stamp string) []byte {
	size := 2 + len(msgID) + len(stamp) + carriedSlack
	for i := range o.Members {
		size += len(o.Members[i].Name) + len(o.Members[i].Value) + 4
	}
	body := append(make([]byte, 0, size), '{')
	for i := range o.Members {
		m := &o.Members[i]
		switch {
		case ownedByHub(m.Name) || m.Name == memberClientTimestamp:
		case m.Name == memberClientMsgID && msgID == "":
		case m.Name == memberClientMsgID:
			body = AppendString(appendName(body, m.Name), msgID)
		default:
			body = append(appendName(body, m.Name), m.Value...)
		}
	}
	if stamp != "" {
		body = append(appendName(body, memberClientTimestamp), stamp...)
	}
	return append(body, '}')
}

// appendName begins the next member of an object that starts dst.
func appendName(dst []byte, name string) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(AppendString(dst, name), ':')
}

// Carried is what a hub needs to know of a carried body.
type Carried struct {
	ClientMsgID      string
	ClientTimestamp  string // raw number text
	ReceiptRequested bool
	Answers          bool // holds a member of a structured answer: it names a number of another hub's journal
}

// CheckCarried holds a carried body that came from a peer to the same rules as one
// made here: see ParseCarried.
func CheckCarried(body []byte, lim Limits) error {
	_, err := ParseCarried(body, lim)
	return err
}

// ParseCarried checks a carried body and returns what the hub reads of it: strict
// JSON, an object without surrounding space, at most lim.MaxBytes and 64 bytes
// more, no member the hub owns, no channel, client_msg_id normalised and
// client_timestamp a non-zero finite number where present. Errors are *JSONError.
func ParseCarried(body []byte, lim Limits) (Carried, error) {
	lim = lim.orDefaults()
	lim.MaxBytes += carriedSlack
	o, err := ParseObject(body, lim)
	if err != nil {
		return Carried{}, err
	}
	if body[0] != '{' || body[len(body)-1] != '}' {
		return Carried{}, refuseMember(RuleObject)
	}
	var c Carried
	for i := range o.Members {
		if rule := c.member(&o.Members[i]); rule != "" {
			return Carried{}, refuseMember(rule)
		}
	}
	if o.hasChannel() {
		return Carried{}, refuseMember(RuleMember)
	}
	return c, nil
}

func (c *Carried) member(m *Member) Rule {
	switch {
	case ownedByHub(m.Name):
		return RuleOwned
	case m.Name == memberClientMsgID:
		c.ClientMsgID = clientMsgID(m.Value)
		if s, _ := m.Value.Text(); s == "" || s != c.ClientMsgID {
			return RuleMember
		}
	case m.Name == memberClientTimestamp:
		if !usableTimestamp(m.Value) {
			return RuleMember
		}
		c.ClientTimestamp = string(m.Value)
	case m.Name == memberReceiptRequested:
		c.ReceiptRequested = m.Value.Truthy()
	case m.Name == memberResponseTo, m.Name == memberResponseStatus, m.Name == memberResponseScope:
		c.Answers = c.Answers || !m.Value.IsNull()
	}
	return ""
}

func refuseMember(rule Rule) error {
	return &JSONError{Reason: ReasonMalformedFrame, Rule: rule, Offset: -1}
}

// ChatFrame is a chat as an agent gets it.
type ChatFrame struct {
	Sender    string
	Target    string
	HasTarget bool
	HubID     HubID
	MsgID     uint64
	Seq       uint64 // 0 leaves the member out
	TimeUS    int64  // hub clock at acceptance
	Replayed  bool   // adds the member and leaves receipt_requested out
	Body      []byte // a checked carried body; only read
}

// Append appends the frame; the members of Body keep their bytes and order.
func (f *ChatFrame) Append(dst []byte) []byte {
	dst = AppendString(append(dst, `{"sender":`...), f.Sender)
	if f.HasTarget {
		dst = appendText(dst, memberTarget, f.Target)
	}
	dst = append(dst, `,"type":"chat"`...)
	dst = f.appendBody(dst)
	dst = AppendSeconds(appendMember(dst, memberTimestamp), f.TimeUS)
	dst = appendText(dst, memberHubID, string(f.HubID))
	dst = appendUint(dst, memberMsgID, f.MsgID)
	if f.Seq != 0 {
		dst = appendUint(dst, memberSeq, f.Seq)
	}
	if f.Replayed {
		dst = appendBool(dst, memberReplayed, true)
	}
	return append(dst, '}')
}

func (f *ChatFrame) appendBody(dst []byte) []byte {
	if f.Replayed {
		// A name may be written with escapes, so the members are split rather
		// than searched for.
		for _, m := range members(f.Body, 0) {
			if m.Name != memberReceiptRequested {
				dst = append(append(AppendString(append(dst, ','), m.Name), ':'), m.Value...)
			}
		}
		return dst
	}
	inner := bytes.TrimSpace(f.Body[1 : len(f.Body)-1])
	if len(inner) == 0 {
		return dst
	}
	return append(append(dst, ','), inner...)
}
