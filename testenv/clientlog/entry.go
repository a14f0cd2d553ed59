// Package clientlog is the notebook of one application above hub/client: what it sent, what it was told and what
// it received, one JSON object a line, written at the moment each thing happens. It is the checker's evidence, so it
// holds facts only and draws no conclusion from them.
//
// A line reaches the file in one write, so that a driver killed at any instant leaves whole lines and at most one
// torn one at the end. Nothing is synced: the driver's machine is not what is under test.
//
// Bodies are not written, only the SHA-256 of the payload.
package clientlog

import (
	"crypto/sha256"
	"encoding/hex"
)

// Kind says what happened.
type Kind string

// The closed list of kinds.
const (
	// Joined: a connection of this application is registered at its hub. Conn rises by one with each.
	Joined Kind = "joined"
	// Sent: the application is about to put a chat on the wire. It is written before the first byte leaves, so that no
	// record can exist for which no line does. Sending again with the same client message id is a second line.
	Sent Kind = "sent"
	// Accepted: the hub returned the sender's own copy with its seq.
	Accepted Kind = "accepted"
	// Refused: a private error answered the chat of ClientMsgID with Reason.
	Refused Kind = "refused"
	// Received: the application above hub/client was handed this message (after the client's own deduplication).
	Received Kind = "received"
	// Receipt: a delivery receipt came for the chat Seq.
	Receipt Kind = "receipt"
)

// Entry is one line. Which members a kind carries stands at the kinds and the members.
type Entry struct {
	Kind   Kind   `json:"kind"`
	Who    string `json:"who"`           // the application's seat on its hub
	Hub    string `json:"hub"`           // the hub it is connected to
	Conn   uint64 `json:"conn,omitzero"` // number of the connection within this file, from 1
	TimeUS int64  `json:"t,omitzero"`    // Unix microseconds on the driver's clock; for people, never judged

	Roles       []string `json:"roles,omitzero"`         // joined
	To          string   `json:"to,omitzero"`            // sent, accepted, received: the target as sent
	Sender      string   `json:"sender,omitzero"`        // received: as shown, `seat` or `seat@hub`
	ClientMsgID string   `json:"client_msg_id,omitzero"` // all but joined, when the chat has one
	Digest      string   `json:"digest,omitzero"`        // sent, accepted, received: Digest of the payload
	Seq         uint64   `json:"seq,omitzero"`           // accepted, received, receipt: the chat's seq on Hub
	MsgID       uint64   `json:"msg_id,omitzero"`        // accepted, received, receipt
	Reason      string   `json:"reason,omitzero"`        // refused, receipt
	Replayed    bool     `json:"replayed,omitzero"`      // received
	Asked       bool     `json:"asked,omitzero"`         // sent: a receipt was asked for

	NotificationID string   `json:"notification_id,omitzero"` // receipt
	Delivered      bool     `json:"delivered,omitzero"`       // receipt
	Deferred       bool     `json:"deferred,omitzero"`        // receipt
	Expired        bool     `json:"expired,omitzero"`         // receipt
	Recipients     []string `json:"recipients,omitzero"`      // receipt
	RemoteHub      string   `json:"remote_hub,omitzero"`      // receipt: the hub of the recipient, when it is another one
}

// Digest is the lower-case hex SHA-256 of a payload: of the text when the payload is a JSON string, else of its raw
// JSON bytes. Sender, recipient and exported body are compared by it.
func Digest(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}
