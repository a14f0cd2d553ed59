package client

import (
	"fmt"

	"fleetrelay/hub/wire"
)

// Event is one thing a client tells its application: Welcome, Presence, Chat, Accepted, Receipt, ErrorFrame,
// NameConflict, AuthDenied, WhoSnapshot, StateSnapshot, Other, Malformed or Closed. Raw values belong to the receiver.
type Event interface{ event() }

// Welcome is the hub's greeting on a new connection.
type Welcome struct {
	HubID     wire.HubID
	Protocol  int64 // 1 when absent or not an integer
	Connected int64
	Online    []string // names bound before this one
	TimeUS    int64
	Raw       wire.Object
}

// Presence says that a name came or went.
type Presence struct {
	HubID  wire.HubID
	Event  wire.PresenceEvent
	Agent  string
	Online []string
	TimeUS int64
}

// Chat is a message of somebody else.
type Chat struct {
	Sender    string
	Target    string
	HasTarget bool
	Payload   wire.Raw // nil when absent
	Seq       uint64   // 0 without a journal
	MsgID     uint64
	// ClientMsgID is the sender's retry id, "" without.
	ClientMsgID string
	TimeUS      int64 // hub clock
	Replayed    bool
	HubID       wire.HubID
	// Directed: the target names recipients without a star. Addressed: it reaches this client's name or roles; hubs
	// without private-directed mode send every chat to everybody.
	Directed, Addressed bool
	// Raw is the whole frame, with what the sender added.
	Raw wire.Object
}

// Accepted is our own copy of a chat we sent: the hub has taken it.
type Accepted struct {
	ClientMsgID string
	Target      string
	HubID       wire.HubID
	Seq         uint64 // 0 on a hub without a journal, which promises nothing
	MsgID       uint64
	TimeUS      int64
}

// Receipt states what became of a chat of ours that asked for it.
type Receipt struct {
	HubID                        wire.HubID
	MessageTarget                string
	MessageID, MessageSeq        uint64
	Delivered, Deferred, Expired bool
	DeadLettered                 bool
	Recipients, Matched, Stale   []string
	Reason                       wire.Reason
	NotificationID               string
	ClientMsgID                  string
	RemoteHub                    string
	TimeUS                       int64
	Raw                          wire.Object
}

// ErrorFrame refuses one frame of ours.
type ErrorFrame struct {
	HubID           wire.HubID
	Text            string
	Code            wire.Reason // "" when the hub gave none
	ClientMsgID     string
	ClientTimestamp wire.Raw
	TimeUS          int64
	Raw             wire.Object
}

// NameConflict refuses the name; the hub closes after it.
type NameConflict struct {
	HubID wire.HubID
	Text  string
}

// AuthDenied refuses the token; the hub closes after it.
type AuthDenied struct {
	HubID wire.HubID
	Text  string
}

// WhoSnapshot answers Who.
type WhoSnapshot struct {
	HubID     wire.HubID
	Online    []string
	Connected int64
	Version   string
	Raw       wire.Object
}

// StateSnapshot answers State.
type StateSnapshot struct {
	HubID    wire.HubID
	Snapshot wire.Raw
	Raw      wire.Object
}

// Other is a frame of a type this client knows nothing about.
type Other struct {
	Type wire.FrameType
	Raw  wire.Object
}

// Malformed is a message that is not a strict JSON object with its text fields. It is skipped.
type Malformed struct{ Err error }

// Closed ends a connection, or a failed attempt to make one again.
type Closed struct {
	Code   int         // of the hub's close frame, 0 without one
	Text   string      // of the hub's close frame
	Reason wire.Reason // connection_lost when nothing better is known
	Yield  bool        // the client has ended and will not reconnect
	Err    error       // of the attempt or the connection; nil after a close frame
}

func (Welcome) event()       {}
func (Presence) event()      {}
func (Chat) event()          {}
func (Accepted) event()      {}
func (Receipt) event()       {}
func (ErrorFrame) event()    {}
func (NameConflict) event()  {}
func (AuthDenied) event()    {}
func (WhoSnapshot) event()   {}
func (StateSnapshot) event() {}
func (Other) event()         {}
func (Malformed) event()     {}
func (Closed) event()        {}

// ClosedError is the end of a client as an error.
type ClosedError struct{ Closed Closed }

// Error names the reason and the close code.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("client: connection ended: %s (close code %d)", e.Closed.Reason, e.Closed.Code)
}

// Unwrap is the cause, if there is one.
func (e *ClosedError) Unwrap() error { return e.Closed.Err }
