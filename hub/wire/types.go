package wire

import "slices"

// FrameType is the `type` of one frame between an agent and its hub, as it stands
// on the wire. A name is never reused for another meaning.
type FrameType string

// ProtocolVersion is the wire version the hub announces in its welcome.
const ProtocolVersion = 2

// Frame types an agent sends. A frame without a type is a chat.
//
//	agent                              hub
//	  heartbeat  (binds the name)  →
//	                               ←   welcome, presence_update, mailbox replay
//	  chat                         →
//	                               ←   chat (also to the sender), delivery_receipt
//	  ack                          →
//	                               ←   delivery_receipt to the original sender
//	  who_request, state_request   →
//	                               ←   who_snapshot, state_snapshot
const (
	// TypeHeartbeat registers a name and keeps its last-seen time fresh.
	TypeHeartbeat FrameType = "heartbeat"
	// TypeChat carries one message, in both directions.
	TypeChat FrameType = "chat"
	// TypeAck says that a directed chat was taken from the mailbox.
	TypeAck FrameType = "ack"
	// TypeWhoRequest asks who is online.
	TypeWhoRequest FrameType = "who_request"
	// TypeStateRequest asks for agents seen and dead letters.
	TypeStateRequest FrameType = "state_request"
)

// Frame types the hub sends, beside chat.
const (
	// TypeWelcome greets a socket and names hub and protocol version.
	TypeWelcome FrameType = "welcome"
	// TypePresenceUpdate tells everybody that one name came or went.
	TypePresenceUpdate FrameType = "presence_update"
	// TypeNameConflict refuses a name; a close follows.
	TypeNameConflict FrameType = "name_conflict"
	// TypeAuthDenied refuses a token; a close follows.
	TypeAuthDenied FrameType = "auth_denied"
	// TypeError refuses one frame; the socket stays open.
	TypeError FrameType = "error"
	// TypeDeliveryReceipt states what became of a chat that asked for a receipt.
	TypeDeliveryReceipt FrameType = "delivery_receipt"
	// TypeLivenessWarning tells a sender that a match is stale or passive.
	TypeLivenessWarning FrameType = "recipient_liveness_warning"
	// TypeWhoSnapshot answers who_request.
	TypeWhoSnapshot FrameType = "who_snapshot"
	// TypeStateSnapshot answers state_request.
	TypeStateSnapshot FrameType = "state_snapshot"
)

// AgentFrameTypes lists what an agent may send; anything else is an unknown type.
// The caller owns the slice.
func AgentFrameTypes() []FrameType {
	return []FrameType{TypeHeartbeat, TypeChat, TypeAck, TypeWhoRequest, TypeStateRequest}
}

// HubFrameTypes lists what the hub sends. The caller owns the slice.
func HubFrameTypes() []FrameType {
	return []FrameType{
		TypeWelcome, TypePresenceUpdate, TypeNameConflict, TypeAuthDenied, TypeError, TypeChat,
		TypeDeliveryReceipt, TypeLivenessWarning, TypeWhoSnapshot, TypeStateSnapshot,
	}
}

// FromAgent tells whether an agent may send frames of this type.
func (t FrameType) FromAgent() bool { return slices.Contains(AgentFrameTypes(), t) }

// LinkType is the `type` in the header of one frame between two hubs.
type LinkType string

// Types of link frames.
const (
	// LinkHello opens a link: versions, identity, epoch, cursor, offer.
	LinkHello LinkType = "hello"
	// LinkRecords carries a run of lane records.
	LinkRecords LinkType = "records"
	// LinkAck says cumulatively what was taken and synced.
	LinkAck LinkType = "ack"
	// LinkBye ends a link and says why.
	LinkBye LinkType = "bye"
	// LinkProfile says what the sender takes the link to admit, by its digest.
	LinkProfile LinkType = "profile"
	// LinkBeat is a sign of life that carries clocks.
	LinkBeat LinkType = "beat"
)

// LinkTypes lists the link frame types. The caller owns the slice.
func LinkTypes() []LinkType {
	return []LinkType{LinkHello, LinkRecords, LinkAck, LinkBye, LinkProfile, LinkBeat}
}
