package node

import (
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// The types of the admin socket, which are also what `--json` prints. Members are only ever added. Times are Unix
// microseconds; hashes and pins are the text operators compare.

// Status is what this node is and does now.
type Status struct {
	Hub             string       `json:"hub"`
	Running         bool         `json:"running"`
	Version         string       `json:"version"`
	PID             int          `json:"pid,omitzero"`
	SinceUS         int64        `json:"since_us,omitzero"`
	Dir             string       `json:"dir"`
	Pin             string       `json:"pin"`
	CertificateEnds int64        `json:"certificate_ends_us"`
	Agents          string       `json:"agents"` // as bound while running, as configured otherwise
	AgentsTLS       bool         `json:"agents_tls"`
	Links           string       `json:"links"`
	Announced       Announced    `json:"announced"` // where other hubs are told to reach Links
	Epoch           uint64       `json:"epoch"`
	EpochID         string       `json:"epoch_id"`
	HeadSeq         uint64       `json:"head_seq"`
	Online          int          `json:"online"`
	OnlineNames     []string     `json:"online_names"`
	Sockets         int          `json:"sockets"`
	Watchers        int          `json:"watchers"`
	Secured         bool         `json:"secured"`
	PrivateDirected bool         `json:"private_directed"`
	PendingReceipts int          `json:"pending_receipts"`
	Peers           []PeerStatus `json:"peers"`
	// Revoked are hubs that were peers, Rejected how many keys are turned away by name, Waiting the hubs that wait
	// for a decision.
	Revoked  []RevokedPeer `json:"revoked"`
	Rejected int           `json:"rejected"`
	Waiting  []Pending     `json:"pending"`
	Journal  JournalUse    `json:"journal"`
	// Refusals counts what was refused, dropped or closed since the start, by reason: agents, and callers that wanted to be
	// a link and were none.
	Refusals map[wire.Reason]uint64 `json:"refusals,omitzero"`
}

// JournalUse is what the journal cost so far.
type JournalUse struct {
	BytesWritten uint64 `json:"bytes_written"` // log, flushes and compactions since the start
	Syncs        uint64 `json:"syncs"`
	DiskBytes    uint64 `json:"disk_bytes"` // length of all files in its folder, the log that is being written included
	// Verified is how far the running node's own reading of its journal is; nil on a stopped node.
	Verified *journal.PatrolState `json:"verified,omitzero"`
}

// TokenRequest asks for an agent token.
type TokenRequest struct {
	Seat string `json:"seat"`
}

// Token is one agent token. Secret is set once, in the answer to the request.
type Token struct {
	ID        string `json:"id"`
	Seat      string `json:"seat"`
	Secret    string `json:"token,omitzero"`
	By        string `json:"by,omitzero"` // user of the admin socket
	CreatedUS int64  `json:"created_us,omitzero"`
}

// Tokens is the answer to a list request.
type Tokens struct {
	Tokens []Token `json:"tokens"`
}

// SendRequest sends one chat as a seat that need not be online.
type SendRequest struct {
	As          string `json:"as"`
	To          string `json:"to"`
	Text        string `json:"text"`
	ClientMsgID string `json:"client_msg_id,omitzero"`
	Receipt     bool   `json:"receipt,omitzero"`
}

// Sent is what the node accepted. Dest is the hub it goes to, "" for this one.
type Sent struct {
	Seq         uint64 `json:"seq"`
	MsgID       uint64 `json:"msg_id"`
	TimeUS      int64  `json:"time_us"`
	Dest        string `json:"dest,omitzero"`
	ClientMsgID string `json:"client_msg_id,omitzero"`
	// NobodyOnline says that it stays here, is not for everybody, and matched nobody online when it was accepted.
	NobodyOnline bool `json:"nobody_online,omitzero"`
}

// Watched is one chat that a watched seat gave (Sent) or got, as its agent sees it.
type Watched struct {
	Sent  bool     `json:"sent"`
	Frame wire.Raw `json:"frame"`
}

// PurgeRequest removes one body from the journal; its tombstone keeps digest, user and reason.
type PurgeRequest struct {
	Seq uint64 `json:"seq"`
	Why string `json:"why"`
}

// Empty is the answer of an operation that has none but its success.
type Empty struct{}

// failure is how a refusal crosses the socket.
type failure struct {
	Reason string `json:"reason"`
	Text   string `json:"text"`
	Next   string `json:"next"`
}
