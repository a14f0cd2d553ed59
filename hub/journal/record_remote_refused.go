package journal

import "google.golang.org/protobuf/encoding/protowire"

// RemoteRefused is a chat of ours that a peer did not admit.
type RemoteRefused struct {
	Peer            string `json:"peer"`
	LaneSeq         uint64 `json:"lane_seq"`
	ChatSeq         uint64 `json:"chat_seq"`
	MsgID           uint64 `json:"msg_id"`
	Sender          string `json:"sender"`
	Target          string `json:"target"`
	ClientMsgID     string `json:"client_msg_id,omitzero"`
	ClientTimestamp string `json:"client_timestamp,omitzero"`
	Reason          string `json:"reason"`
}

// Kind is KindRemoteRefused.
func (RemoteRefused) Kind() Kind { return KindRemoteRefused }

// Append appends the record's fields to dst.
func (r RemoteRefused) Append(dst []byte) []byte {
	dst = appendText(dst, 1, r.Peer)
	dst = appendUint(dst, 2, r.LaneSeq)
	dst = appendUint(dst, 3, r.ChatSeq)
	dst = appendUint(dst, 4, r.MsgID)
	dst = appendText(dst, 5, r.Sender)
	dst = appendText(dst, 6, r.Target)
	dst = appendText(dst, 7, r.ClientMsgID)
	dst = appendText(dst, 8, r.ClientTimestamp)
	return appendText(dst, 9, r.Reason)
}

// ParseRemoteRefused reads what Append wrote; unknown fields are an error.
func ParseRemoteRefused(attrs []byte) (RemoteRefused, error) {
	return parse(attrs, false, (*RemoteRefused).field)
}

func (r *RemoteRefused) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Peer = d.text()
	case 2:
		r.LaneSeq = d.uint()
	case 3:
		r.ChatSeq = d.uint()
	case 4:
		r.MsgID = d.uint()
	case 5:
		r.Sender = d.text()
	case 6:
		r.Target = d.text()
	case 7:
		r.ClientMsgID = d.text()
	case 8:
		r.ClientTimestamp = d.text()
	case 9:
		r.Reason = d.text()
	default:
		d.unknown()
	}
}
