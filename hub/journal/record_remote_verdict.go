package journal

import "google.golang.org/protobuf/encoding/protowire"

// RemoteVerdict is a receipt that came over a link: what another hub says of a chat of ours. It moves the cursor of that
// hub's lane, and where it tells the sender something it also creates the notification row.
type RemoteVerdict struct {
	// Origin is the receipt's own place in its hub's lane; MsgID is the chat's message id there. It has no sender,
	// principal and target.
	Origin   Origin
	LaneHash [32]byte // that lane's rolling hash up to and including this record
	About    uint64   // the chat in our lane to that hub
	// State, Recipients, Stale and Wake are as that hub says them: names without a hub.
	State             ReceiptState
	HubSeq            uint64 // the chat's seq there
	Recipients, Stale []string
	Wake              []NameWake
	Reason            string
	DeadLettered      bool
	// The chat here; all empty when nobody waits for the verdict.
	ChatSeq, MsgID              uint64
	Sender, Target, ClientMsgID string
	// Tells is what the sender is told by it, 0 when that is nothing new.
	Tells ReceiptState
}

// Kind is KindRemoteVerdict.
func (RemoteVerdict) Kind() Kind { return KindRemoteVerdict }

// Append appends the record's fields to dst.
func (r RemoteVerdict) Append(dst []byte) []byte {
	if r.Origin != (Origin{}) {
		dst = appendOrigin(dst, 1, &r.Origin)
	}
	dst = appendFixed(dst, 2, r.LaneHash[:])
	dst = appendUint(dst, 3, r.About)
	dst = appendUint(dst, 4, uint64(r.State))
	dst = appendUint(dst, 5, r.HubSeq)
	dst = appendTexts(dst, 6, r.Recipients)
	dst = appendTexts(dst, 7, r.Stale)
	for _, w := range r.Wake {
		dst = appendNameWake(dst, 8, w)
	}
	dst = appendText(dst, 9, r.Reason)
	dst = appendFlag(dst, 10, r.DeadLettered)
	dst = appendUint(dst, 11, r.ChatSeq)
	dst = appendUint(dst, 12, r.MsgID)
	dst = appendText(dst, 13, r.Sender)
	dst = appendText(dst, 14, r.Target)
	dst = appendText(dst, 15, r.ClientMsgID)
	return appendUint(dst, 16, uint64(r.Tells))
}

// ParseRemoteVerdict reads what Append wrote; unknown fields are an error.
func ParseRemoteVerdict(attrs []byte) (RemoteVerdict, error) {
	return parse(attrs, false, (*RemoteVerdict).field)
}

func (r *RemoteVerdict) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Origin = d.origin()
		d.single(r.Origin == (Origin{}))
	case 2:
		d.fixed(r.LaneHash[:])
	case 3:
		r.About = d.uint()
	case 4:
		r.State = d.receiptState()
	case 5:
		r.HubSeq = d.uint()
	case 6:
		d.texts(&r.Recipients)
	case 7:
		d.texts(&r.Stale)
	case 8:
		r.Wake = append(r.Wake, d.nameWake())
	case 9:
		r.Reason = d.text()
	case 10:
		r.DeadLettered = d.flag()
	case 11:
		r.ChatSeq = d.uint()
	case 12:
		r.MsgID = d.uint()
	case 13:
		r.Sender = d.text()
	case 14:
		r.Target = d.text()
	case 15:
		r.ClientMsgID = d.text()
	case 16:
		r.Tells = d.receiptState()
	default:
		d.unknown()
	}
}

// check refuses a verdict without a state.
func (r *RemoteVerdict) check() error {
	if r.State < ReceiptDelivered || r.State > ReceiptExpired {
		return errIncomplet
	}
	return nil
}
