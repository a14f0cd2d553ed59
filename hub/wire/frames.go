package wire

import "strconv"

// HubSender is the sender of every frame of the hub except relayed chat.
const HubSender = "SynapseHub"

// TargetAll is the target of broadcasts, and the word with which a chat addresses
// everybody.
const TargetAll = "all"

// begin appends the members every hub frame has; the caller adds its own and the
// closing brace.
func begin(dst []byte, t FrameType, hub HubID, us int64, target, payload string) []byte {
	dst = append(dst, `{"sender":"`+HubSender+`"`...)
	dst = appendText(dst, memberTarget, target)
	dst = appendText(dst, memberType, string(t))
	dst = appendText(dst, "payload", payload)
	dst = AppendSeconds(appendMember(dst, memberTimestamp), us)
	return appendText(dst, memberHubID, string(hub))
}

// Welcome greets a socket.
type Welcome struct {
	HubID            HubID
	TimeUS           int64
	ConnectedClients int      // sockets now connected, this one included
	OnlineAgents     []string // sorted names bound before this socket
}

// Append appends the frame.
func (f *Welcome) Append(dst []byte) []byte {
	dst = begin(dst, TypeWelcome, f.HubID, f.TimeUS, "self", "Connected to the hub.")
	dst = appendInt(dst, "connected_clients", f.ConnectedClients)
	dst = appendList(dst, "online_agents", f.OnlineAgents)
	return append(appendInt(dst, "protocol_version", ProtocolVersion), '}')
}

// PresenceEvent is what happened to a name.
type PresenceEvent string

// Presence events.
const (
	PresenceJoined PresenceEvent = "joined"
	PresenceLeft   PresenceEvent = "left"
)

// PresenceUpdate tells everybody that a name came or went.
type PresenceUpdate struct {
	HubID        HubID
	TimeUS       int64
	OnlineAgents []string // sorted
	Event        PresenceEvent
	Agent        string
}

// Append appends the frame.
func (f *PresenceUpdate) Append(dst []byte) []byte {
	dst = begin(dst, TypePresenceUpdate, f.HubID, f.TimeUS, TargetAll, "The set of online agents changed.")
	dst = appendList(dst, "online_agents", f.OnlineAgents)
	dst = appendText(dst, "event", string(f.Event))
	return append(appendText(dst, "agent", f.Agent), '}')
}

// NameConflict refuses a name; the hub closes the socket after it. Text comes from
// one of the sentences of texts.go.
type NameConflict struct {
	HubID  HubID
	TimeUS int64
	Target string // the name asked for, or the bound name on a switch
	Text   string
}

// Append appends the frame.
func (f *NameConflict) Append(dst []byte) []byte {
	return append(begin(dst, TypeNameConflict, f.HubID, f.TimeUS, f.Target, f.Text), '}')
}

// AuthDenied refuses a token; the hub closes the socket after it.
type AuthDenied struct {
	HubID  HubID
	TimeUS int64
	Target string // the name claimed
	Text   string
}

// Append appends the frame.
func (f *AuthDenied) Append(dst []byte) []byte {
	return append(begin(dst, TypeAuthDenied, f.HubID, f.TimeUS, f.Target, f.Text), '}')
}

// ErrorFrame refuses one frame and leaves the socket open.
type ErrorFrame struct {
	HubID           HubID
	TimeUS          int64
	Target          string // "all" while the sender is not known
	Text            string
	Code            Reason // "" leaves error_code out
	ClientMsgID     string // correlation of a refused chat
	ClientTimestamp string // raw number, used when there is no ClientMsgID
}

// Append appends the frame.
func (f *ErrorFrame) Append(dst []byte) []byte {
	dst = begin(dst, TypeError, f.HubID, f.TimeUS, f.Target, f.Text)
	if f.Code != "" {
		dst = appendText(dst, "error_code", string(f.Code))
	}
	switch {
	case f.ClientMsgID != "":
		dst = appendText(dst, memberClientMsgID, f.ClientMsgID)
	case f.ClientTimestamp != "":
		dst = append(appendMember(dst, memberClientTimestamp), f.ClientTimestamp...)
	}
	return append(dst, '}')
}

// NameWake is an agent and its declared wake capability.
type NameWake struct {
	Name string
	Wake string
}

func appendWakes(dst []byte, name string, wakes []NameWake) []byte {
	dst = append(appendMember(dst, name), '{')
	for i, w := range wakes {
		dst = AppendString(appendKey(dst, i, w.Name), w.Wake)
	}
	return append(dst, '}')
}

// appendKey begins member i of a nested object.
func appendKey(dst []byte, i int, name string) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return append(AppendString(dst, name), ':')
}

// LivenessWarning tells the sender of a directed chat that a match is stale or
// passive.
type LivenessWarning struct {
	HubID         HubID
	TimeUS        int64
	Target        string // the chat's sender
	MessageTarget string
	MessageID     uint64
	Delivered     bool
	DeadLettered  bool
	Reason        Reason // "", no_online_recipient or no_live_recipient
	Matched       []string
	Stale         []string
	Passive       []string
	Wake          []NameWake
}

// Append appends the frame.
func (f *LivenessWarning) Append(dst []byte) []byte {
	dst = begin(dst, TypeLivenessWarning, f.HubID, f.TimeUS, f.Target, livenessText(f.Stale, f.Passive))
	dst = appendText(dst, "message_target", f.MessageTarget)
	dst = appendUint(dst, "message_id", f.MessageID)
	dst = appendBool(dst, "delivered", f.Delivered)
	dst = appendBool(dst, "dead_lettered", f.DeadLettered)
	dst = appendText(dst, "reason", string(f.Reason))
	dst = appendList(dst, "matched_recipients", f.Matched)
	dst = appendList(dst, "stale_recipients", f.Stale)
	dst = appendList(dst, "passive_recipients", f.Passive)
	return append(appendWakes(dst, "recipient_wake_capabilities", f.Wake), '}')
}

// ReceiptShape is which of the three forms a receipt has.
type ReceiptShape uint8

// Receipt shapes.
const (
	// ReceiptImmediate is the verdict at acceptance.
	ReceiptImmediate ReceiptShape = iota
	// ReceiptDeferred says that a later ack settled it.
	ReceiptDeferred
	// ReceiptExpired says that it will never be settled.
	ReceiptExpired
)

// String is the shape's name in logs.
func (s ReceiptShape) String() string {
	switch s {
	case ReceiptImmediate:
		return "immediate"
	case ReceiptDeferred:
		return "deferred"
	case ReceiptExpired:
		return "expired"
	}
	return "receipt shape " + strconv.Itoa(int(s))
}

// Receipt states what became of a chat that asked for a receipt.
//
//	shape      members beside the message's identity and recipients
//	immediate  delivered, deferred false, matched, stale, reason, dead_lettered, wake capabilities
//	deferred   delivered true, deferred true
//	expired    delivered false, deferred true, expired true, reason; no recipients
type Receipt struct {
	HubID          HubID
	TimeUS         int64
	Target         string // the chat's sender
	Shape          ReceiptShape
	MessageTarget  string
	MessageID      uint64
	MessageSeq     uint64     // 0 leaves the member out
	Delivered      bool       // immediate only
	DeadLettered   bool       // immediate only
	Recipients     []string   // the live ones; the identity that acked
	Matched        []string   // immediate only
	Stale          []string   // immediate only
	Wake           []NameWake // immediate only, one per match
	Reason         Reason     // immediate and expired
	NotificationID string     // "" leaves the member out, see ReceiptNotificationID
	ClientMsgID    string     // "" leaves the member out
	RemoteHub      HubID      // hub whose verdict this is or is awaited, "" for this one
}

// ReceiptNotificationID is the stable id of one verdict: delivery-receipt:<seq>:<state>.
func ReceiptNotificationID(seq uint64, state string) string {
	return "delivery-receipt:" + strconv.FormatUint(seq, 10) + ":" + state
}

// Append appends the frame.
func (f *Receipt) Append(dst []byte) []byte {
	dst = begin(dst, TypeDeliveryReceipt, f.HubID, f.TimeUS, f.Target, receiptText(f))
	dst = appendText(dst, "message_target", f.MessageTarget)
	dst = appendUint(dst, "message_id", f.MessageID)
	if f.MessageSeq != 0 {
		dst = appendUint(dst, "message_seq", f.MessageSeq)
	}
	dst = f.appendVerdict(dst)
	if f.NotificationID != "" {
		dst = appendText(dst, "receipt_notification_id", f.NotificationID)
	}
	if f.ClientMsgID != "" {
		dst = appendText(dst, memberClientMsgID, f.ClientMsgID)
	}
	if f.RemoteHub != "" {
		dst = appendText(dst, "remote_hub", string(f.RemoteHub))
	}
	return append(dst, '}')
}

func (f *Receipt) appendVerdict(dst []byte) []byte {
	switch f.Shape {
	case ReceiptDeferred:
		dst = appendBool(dst, "delivered", true)
		dst = appendBool(dst, "deferred", true)
		return appendList(dst, "recipients", f.Recipients)
	case ReceiptExpired:
		dst = appendBool(dst, "delivered", false)
		dst = appendBool(dst, "deferred", true)
		dst = appendBool(dst, "expired", true)
		dst = appendText(dst, "reason", string(f.Reason))
		return appendList(dst, "recipients", nil)
	}
	dst = appendBool(dst, "delivered", f.Delivered)
	dst = appendBool(dst, "deferred", false)
	dst = appendList(dst, "recipients", f.Recipients)
	dst = appendList(dst, "matched_recipients", f.Matched)
	dst = appendList(dst, "stale_recipients", f.Stale)
	dst = appendText(dst, "reason", string(f.Reason))
	dst = appendBool(dst, "dead_lettered", f.DeadLettered)
	return appendWakes(dst, "recipient_wake_capabilities", f.Wake)
}
