package relay

import (
	"crypto/sha256"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// intake turns the records of a peer's lane into what the core takes: it checks each one and rolls the lane's hash on.
// It belongs to the link's reader.
type intake struct {
	peer    wire.HubID
	epoch   uint64
	epochID [16]byte
	limits  wire.Limits // of a carried body

	seq    uint64 // last record taken
	hash   [32]byte
	sent   func() uint64 // our last record that left on this link or one before; nil bounds nothing
	parser frame.OriginParser
}

// take returns the records of the frame that are new, or an error when the frame leaves a gap.
func (in *intake) take(rs frame.Records) ([]hub.InRecord, error) {
	if rs.First > in.seq+1 {
		return nil, refuse(wire.ReasonLinkProtocol, "record %d follows %d", rs.First, in.seq)
	}
	known := in.seq + 1 - rs.First // duplicates: sent again by a peer that did not hear of our cursor
	if known >= uint64(len(rs.Items)) {
		return nil, nil
	}
	fresh := rs.Items[known:]
	out := make([]hub.InRecord, len(fresh))
	for i := range fresh {
		in.one(&out[i], fresh[i])
	}
	return out, nil
}

// one judges the next record. Whatever it is, it settles one number of the lane.
func (in *intake) one(out *hub.InRecord, rec frame.Record) {
	in.seq++
	o, err := in.parser.Parse(rec.Origin)
	if err == nil && o.Seq != in.seq {
		err = refuse(wire.ReasonMalformedOrigin, "record %d says it is %d", in.seq, o.Seq)
	}
	if err != nil {
		in.unreadable(out, rec, reasonOf(err, wire.ReasonMalformedOrigin))
		return
	}
	out.Kind, out.Body = o.Kind, rec.Body
	out.Refuse = in.verdict(out, &o)
	// The lane is the link's whatever the block claims: the cursor must not take up an epoch that a refused one names.
	out.Origin = hub.Origin{
		Hub: in.peer, Epoch: in.epoch, EpochID: in.epochID, LaneSeq: o.Seq, MsgID: o.MsgID, AcceptedUS: o.AcceptedUS,
		Sender: o.Sender, Principal: o.Principal, Target: o.Target, ClientMsgID: o.ClientMsgID, Digest: o.Digest,
	}
	in.hash = o.LaneLink().Next(in.hash)
	out.LaneHash = in.hash
}

// unreadable settles a record whose origin block cannot be used. Its part in the lane's hash is fixed all the same, so
// that both ends can go on: the number, and the digest of the block's bytes.
func (in *intake) unreadable(out *hub.InRecord, rec frame.Record, reason wire.Reason) {
	link := wire.LaneLink{Seq: in.seq, Digest: sha256.Sum256(rec.Origin)}
	in.hash = link.Next(in.hash)
	*out = hub.InRecord{
		Origin: hub.Origin{Hub: in.peer, Epoch: in.epoch, EpochID: in.epochID, LaneSeq: in.seq, Digest: sha256.Sum256(rec.Body)},
		Body:   rec.Body, LaneHash: in.hash, Refuse: reason,
	}
}

// verdict is "" for a record that the core may decide on.
func (in *intake) verdict(out *hub.InRecord, o *frame.Origin) wire.Reason {
	switch {
	case o.Hub != in.peer, o.Epoch != in.epoch, o.EpochID != in.epochID:
		return wire.ReasonWrongOrigin
	case o.Kind == wire.LaneWithdrawn && len(out.Body) == 0:
		return "" // its digest is that of a body that never left
	case o.Kind == wire.LaneWithdrawn:
		return wire.ReasonMalformedOrigin
	case sha256.Sum256(out.Body) != o.Digest:
		return wire.ReasonDigestMismatch
	case o.Kind == wire.LaneReceipt:
		said, err := wire.ParseVerdicts(out.Body)
		out.Verdicts = said
		if n := len(said); err == nil && n > 0 && in.sent != nil && said[n-1].LaneSeq > in.sent() {
			return wire.ReasonMalformedReceipt // of a record that never left
		}
		return reasonOf(err, "")
	}
	return in.chat(out, o, out.Body)
}

// chat reads the body of a chat and judges it.
func (in *intake) chat(out *hub.InRecord, o *frame.Origin, body []byte) wire.Reason {
	carried, err := wire.ParseCarried(body, in.limits)
	switch {
	case err != nil:
		return reasonOf(err, wire.ReasonMalformedFrame)
	case carried.ClientMsgID != o.ClientMsgID:
		return wire.ReasonMalformedOrigin
	case carried.Answers:
		return wire.ReasonInvalidAnswer // its number is one of another journal
	}
	out.ReceiptRequested = carried.ReceiptRequested
	return ""
}
