package hub

import "fleetrelay/hub/wire"

// This file holds the plain types that pass between the core and whatever forwards to other hubs. They carry no
// behaviour: the core decides, the forwarder moves bytes.
//
// A lane is the ordered sequence of records that one hub owes to one other hub. Its numbers are dense and start at 1
// in every epoch of the origin; number 0 stands for "nothing yet".

// Cursor is a durable position in a lane: the last record held, the epoch it was counted in, and the rolling hash of
// the lane up to and including it (see [wire.LaneLink]). The zero Cursor means that nothing was ever received.
type Cursor struct {
	EpochID [16]byte
	Seq     uint64
	Hash    [32]byte
}

// LaneOut is the synced state of the lane this hub owes to one peer: Head is the last record accepted for it, Acked the
// last one the peer said it holds durably. Acked <= Head always.
type LaneOut struct {
	Head   uint64
	Acked  uint64
	Denied uint64 // of the acknowledged ones, those the peer did not admit
}

// Origin is the provenance of a record: where, by whom and as what it was first accepted. It is set once by the hub
// that accepted it and never edited.
type Origin struct {
	// Hub accepted the record first. In an [InRecord] it is always the peer whose lane the record came in: one that claims
	// another hub arrives with Refuse set, so that nobody can write into a lane that is not theirs.
	Hub wire.HubID
	// Epoch and EpochID are the accepting hub's epoch at that time.
	Epoch   uint64
	EpochID [16]byte
	// LaneSeq is the record's number in the lane, MsgID the accepting hub's message id.
	LaneSeq uint64
	MsgID   uint64
	// AcceptedUS is the time of acceptance on the accepting hub's clock, in Unix microseconds.
	AcceptedUS int64
	// Sender is the bound name at the accepting hub, without a hub part; Principal is what proved it.
	Sender    string
	Principal string
	// Target is the address as the sender wrote it, hub part included.
	Target string
	// ClientMsgID is the sender's normalised message id, "" when there was none.
	ClientMsgID string
	// Digest is the SHA-256 of the carried body.
	Digest [32]byte
}

// OutRecord is one synced record of an outgoing lane. The forwarder must not change Body and may keep it only until it
// asks for the next page.
type OutRecord struct {
	Kind   wire.LaneKind
	Seq    uint64 // = Origin.LaneSeq
	Origin Origin
	Body   []byte
}

// InRecord is one record as it arrived from a peer, in lane order and without gaps. The core owns Body once it was
// handed over.
type InRecord struct {
	Kind   wire.LaneKind
	Origin Origin
	Body   []byte
	// ReceiptRequested says that a chat's carried body asks for a receipt.
	ReceiptRequested bool
	// Verdicts is the body of a receipt as it was read; nil for anything else.
	Verdicts []wire.Verdict
	// LaneHash is the lane's rolling hash up to and including this record, computed by the forwarder so that the core's
	// loop need not hash. The core stores it in the cursor that it commits with the record.
	LaneHash [32]byte
	// Refuse, when not "", is the forwarder's verdict that this record must not be admitted (a foreign origin, a digest
	// that does not match, a malformed body). The core journals the refusal with its bytes, moves the cursor over the
	// record and reports it among the result's refusals, exactly as for a refusal of its own. When
	// the origin block itself could not be read, only Hub, Epoch, EpochID, LaneSeq and the body's Digest of Origin are set.
	Refuse wire.Reason
}

// Refusal says that one record of a lane was not admitted, and why. A refused record is settled: the cursor passes it.
type Refusal struct {
	Seq    uint64
	Reason wire.Reason
}

// InboundResult tells what became of one batch of inbound records. With Err nil everything up to Cursor is durable, and
// Refused lists, in ascending order, the records of the batch that were not admitted. With Err set nothing may be
// concluded and nothing acknowledged.
type InboundResult struct {
	Cursor  Cursor
	Refused []Refusal
	Err     error
}

// Forwarder moves records between this hub and its peers. The hub declares it; the relay satisfies it.
type Forwarder interface {
	// Wake says that the lane to peer has synced records up to head. It is called after the sync and must not block.
	Wake(peer wire.HubID, head uint64)
	// PeersChanged says that the trust snapshot or the list of joined hubs was replaced. It must not block.
	PeersChanged()
}
