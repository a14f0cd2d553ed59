package journal

import (
	"encoding/base64"
	"encoding/hex"
	"unicode/utf8"
)

// Exported is one event as JSON tools see it.
type Exported struct {
	Seq     uint64 `json:"seq"`
	Kind    string `json:"kind"`
	Format  uint8  `json:"format"`
	TimeUS  int64  `json:"time_us"`
	HasBody bool   `json:"has_body,omitzero"`
	BodyLen uint32 `json:"body_len,omitzero"`
	Digest  string `json:"digest,omitzero"` // hex SHA-256 of the body
	// Record is the typed record with snake_case members, byte strings as hex; the secrets of
	// invites and the hashes of tokens and invites are left out.
	Record any `json:"record,omitzero"`
	// Attrs is the raw record in hex, where this build cannot parse it and no secret can stand in it.
	Attrs string `json:"attrs,omitzero"`
	// Body is there only if the event was given its body, and never that of a snapshot, which holds secrets; Base64 says that it is not UTF-8 text.
	Body   string `json:"body,omitzero"`
	Base64 bool   `json:"base64,omitzero"`
}

// ExportEvent is the JSON-able form of an event: kind and fields by name, digests in hex. Bodies go out only if the
// caller has put one into ev.Body.
func ExportEvent(ev Event) Exported {
	x := Exported{Seq: ev.Seq, Kind: ev.Kind.String(), Format: ev.Format, TimeUS: ev.TimeUS, HasBody: ev.HasBody, BodyLen: ev.BodyLen}
	if ev.HasBody {
		x.Digest = hex.EncodeToString(ev.Digest[:])
	}
	if rec, err := ev.Record(); err == nil {
		x.Record = exportRecord(rec)
	} else if !ev.Kind.secretive() {
		x.Attrs = hex.EncodeToString(ev.Attrs)
	}
	if ev.Body == nil || ev.Kind == KindSnapshotTaken {
		return x
	}
	if x.Base64 = !utf8.Valid(ev.Body); x.Base64 {
		x.Body = base64.StdEncoding.EncodeToString(ev.Body)
	} else {
		x.Body = string(ev.Body)
	}
	return x
}

// secretive says that records of the kind hold what only this node may know.
func (k Kind) secretive() bool {
	switch k {
	case KindTokenCreated, KindPeerApproved, KindInviteCreated, KindPeerJoined, KindPeerRejected:
		return true
	}
	return false
}

type exportedEpoch struct {
	HubID  string `json:"hub_id"`
	Number uint64 `json:"number"`
	ID     string `json:"id"`
}

type exportedOrigin struct {
	Hub        string `json:"hub"`
	Epoch      uint64 `json:"epoch"`
	EpochID    string `json:"epoch_id"`
	LaneSeq    uint64 `json:"lane_seq"`
	MsgID      uint64 `json:"msg_id"`
	AcceptedUS int64  `json:"accepted_us"`
	Sender     string `json:"sender"`
	Principal  string `json:"principal"`
	Target     string `json:"target"`
}

type exportedChat struct {
	MsgID            uint64          `json:"msg_id"`
	Sender           string          `json:"sender"`
	Target           *string         `json:"target"` // null = none
	Principal        string          `json:"principal"`
	ClientMsgID      string          `json:"client_msg_id,omitzero"`
	ClientTimestamp  string          `json:"client_timestamp,omitzero"`
	ReceiptRequested bool            `json:"receipt_requested,omitzero"`
	Dest             string          `json:"dest,omitzero"`
	LaneSeq          uint64          `json:"lane_seq,omitzero"`
	Origin           *exportedOrigin `json:"origin,omitzero"`
	AwaitsRemote     bool            `json:"awaits_remote,omitzero"`
}

type exportedToken struct {
	ID   string `json:"id"`
	Seat string `json:"seat"`
	By   string `json:"by"`
}

type exportedRefusal struct {
	Origin *exportedOrigin `json:"origin"`
	Reason string          `json:"reason"`
}

type exportedAck struct {
	Peer    string `json:"peer"`
	LaneSeq uint64 `json:"lane_seq"`
	Hash    string `json:"hash"`
	Bytes   uint64 `json:"bytes,omitzero"`
}

type exportedReconciled struct {
	Peer    string `json:"peer"`
	By      string `json:"by"`
	User    string `json:"user"`
	Epoch   uint64 `json:"epoch,omitzero"`
	EpochID string `json:"epoch_id"`
	Base    uint64 `json:"base"`
	Head    uint64 `json:"head"`
}

type exportedAdopted struct {
	Peer     string `json:"peer"`
	Epoch    uint64 `json:"epoch"`
	EpochID  string `json:"epoch_id"`
	Seq      uint64 `json:"seq"`
	LostFrom uint64 `json:"lost_from,omitzero"`
	LostTo   uint64 `json:"lost_to,omitzero"`
	HeldFrom uint64 `json:"held_from,omitzero"`
	HeldTo   uint64 `json:"held_to,omitzero"`
}

type exportedPurge struct {
	Seq    uint64 `json:"seq"`
	Digest string `json:"digest"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// exportRecord shows byte strings as hex; records without any are shown as they are.
func exportRecord(rec any) any {
	switch r := rec.(type) {
	case EpochStarted:
		return exportedEpoch{r.HubID, r.Number, hex.EncodeToString(r.ID[:])}
	case ChatAccepted:
		return exportChat(&r)
	case TokenCreated:
		return exportedToken{r.ID, r.Seat, r.By}
	case PeerApproved, InviteCreated, InviteWithdrawn, PeerJoined, PeerCalled, PeerRejected:
		return exportTrust(r)
	case InboundRefused:
		return exportedRefusal{exportOrigin(&r.Origin), r.Reason}
	case LaneAcked:
		return exportedAck{r.Peer, r.LaneSeq, hex.EncodeToString(r.Hash[:]), r.Bytes}
	case LaneReconciled:
		return exportedReconciled{r.Peer, r.By, r.User, r.Epoch, hex.EncodeToString(r.EpochID[:]), r.Base, r.Head}
	case LaneAdopted:
		return exportedAdopted{r.Peer, r.Epoch, hex.EncodeToString(r.EpochID[:]), r.Seq, r.LostFrom, r.LostTo, r.HeldFrom, r.HeldTo}
	case BodyPurged:
		return exportedPurge{r.Seq, hex.EncodeToString(r.Digest[:]), r.By, r.Reason}
	case ReceiptSettled:
		return exportReceipt(&r)
	case VerdictsSaid:
		return exportSaid(&r)
	case VerdictsHeard:
		return exportHeard(&r)
	case RecordWithdrawn:
		return exportWithdrawn(&r)
	}
	return rec
}

func exportOrigin(o *Origin) *exportedOrigin {
	if o == nil {
		return nil
	}
	return &exportedOrigin{
		o.Hub, o.Epoch, hex.EncodeToString(o.EpochID[:]), o.LaneSeq, o.MsgID, o.AcceptedUS,
		o.Sender, o.Principal, o.Target,
	}
}

func exportChat(r *ChatAccepted) exportedChat {
	x := exportedChat{
		MsgID: r.MsgID, Sender: r.Sender, Principal: r.Principal,
		ClientMsgID: r.ClientMsgID, ClientTimestamp: r.ClientTimestamp, ReceiptRequested: r.ReceiptRequested,
		Dest: r.Dest, LaneSeq: r.LaneSeq, Origin: exportOrigin(r.Origin), AwaitsRemote: r.AwaitsRemote,
	}
	if r.HasTarget {
		x.Target = &r.Target
	}
	return x
}

type exportedReceipt struct {
	ChatSeq      uint64         `json:"chat_seq"`
	MsgID        uint64         `json:"msg_id"`
	Sender       string         `json:"sender"`
	Target       string         `json:"target"`
	ClientMsgID  string         `json:"client_msg_id,omitzero"`
	State        string         `json:"state"`
	Recipients   []string       `json:"recipients"`
	Matched      []string       `json:"matched"`
	Stale        []string       `json:"stale"`
	Wake         []exportedWake `json:"wake"`
	Reason       string         `json:"reason,omitzero"`
	DeadLettered bool           `json:"dead_lettered,omitzero"`
	RemoteHub    string         `json:"remote_hub,omitzero"`
	About        uint64         `json:"about,omitzero"`
}

type exportedWake struct {
	Name string `json:"name"`
	Wake string `json:"wake"`
}

func exportReceipt(r *ReceiptSettled) exportedReceipt {
	x := exportedReceipt{
		ChatSeq: r.ChatSeq, MsgID: r.MsgID, Sender: r.Sender, Target: r.Target, ClientMsgID: r.ClientMsgID,
		State: r.State.String(), Recipients: r.Recipients, Matched: r.Matched, Stale: r.Stale,
		Reason: r.Reason, DeadLettered: r.DeadLettered,
		RemoteHub: r.RemoteHub, About: r.About,
	}
	for _, w := range r.Wake {
		x.Wake = append(x.Wake, exportedWake(w))
	}
	return x
}

type exportedWithdrawn struct {
	Peer            string          `json:"peer,omitzero"`
	LaneSeq         uint64          `json:"lane_seq,omitzero"`
	ChatSeq         uint64          `json:"chat_seq,omitzero"`
	MsgID           uint64          `json:"msg_id,omitzero"`
	Sender          string          `json:"sender,omitzero"`
	Target          string          `json:"target,omitzero"`
	ClientMsgID     string          `json:"client_msg_id,omitzero"`
	ClientTimestamp string          `json:"client_timestamp,omitzero"`
	Reason          string          `json:"reason"`
	LaneHash        string          `json:"lane_hash"`
	Bytes           uint64          `json:"bytes,omitzero"`
	Through         uint64          `json:"through,omitzero"`
	Origin          *exportedOrigin `json:"origin,omitzero"` // of a peer's record
}

func exportWithdrawn(r *RecordWithdrawn) exportedWithdrawn {
	return exportedWithdrawn{
		Peer: r.Peer, LaneSeq: r.LaneSeq, ChatSeq: r.ChatSeq, MsgID: r.MsgID, Sender: r.Sender, Target: r.Target,
		ClientMsgID: r.ClientMsgID, ClientTimestamp: r.ClientTimestamp, Reason: r.Reason,
		LaneHash: hex.EncodeToString(r.LaneHash[:]), Bytes: r.Bytes, Through: r.Through, Origin: exportOrigin(r.Origin),
	}
}
