package journal

import "google.golang.org/protobuf/encoding/protowire"

// VerdictsHeard is a receipt that came over a link: what another hub says of chats of ours. It moves the cursor of that
// hub's lane, and for each sender whom it tells something it also creates a notification row.
type VerdictsHeard struct {
	// Origin is the receipt's own place in its hub's lane. It has no message id, sender, principal and target.
	Origin   Origin
	LaneHash [32]byte // that lane's rolling hash up to and including this record
	Verdicts []FarVerdict
}

// FarVerdict is what another hub says of one chat of ours.
type FarVerdict struct {
	About uint64 // the chat in our lane to that hub
	// State, Recipients, Stale and Wake are as that hub says them: names without a hub.
	State             ReceiptState
	HubSeq, HubMsgID  uint64 // the chat's seq and message id there
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

// Kind is KindVerdictsHeard.
func (VerdictsHeard) Kind() Kind { return KindVerdictsHeard }

// Append appends the record's fields to dst.
func (r VerdictsHeard) Append(dst []byte) []byte {
	if r.Origin != (Origin{}) {
		dst = appendOrigin(dst, 1, &r.Origin)
	}
	dst = appendFixed(dst, 2, r.LaneHash[:])
	var buf [512]byte
	for i := range r.Verdicts {
		dst = appendBytes(dst, 3, r.Verdicts[i].append(buf[:0]))
	}
	return dst
}

func (r *FarVerdict) append(dst []byte) []byte {
	dst = appendUint(dst, 1, r.About)
	dst = appendUint(dst, 2, uint64(r.State))
	dst = appendUint(dst, 3, r.HubSeq)
	dst = appendUint(dst, 4, r.HubMsgID)
	dst = appendTexts(dst, 5, r.Recipients)
	dst = appendTexts(dst, 6, r.Stale)
	for _, w := range r.Wake {
		dst = appendNameWake(dst, 7, w)
	}
	dst = appendText(dst, 8, r.Reason)
	dst = appendFlag(dst, 9, r.DeadLettered)
	dst = appendUint(dst, 10, r.ChatSeq)
	dst = appendUint(dst, 11, r.MsgID)
	dst = appendText(dst, 12, r.Sender)
	dst = appendText(dst, 13, r.Target)
	dst = appendText(dst, 14, r.ClientMsgID)
	return appendUint(dst, 15, uint64(r.Tells))
}

// ParseVerdictsHeard reads what Append wrote; unknown fields are an error.
func ParseVerdictsHeard(attrs []byte) (VerdictsHeard, error) {
	return parse(attrs, false, (*VerdictsHeard).field)
}

func (r *VerdictsHeard) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.Origin = d.origin()
		d.single(r.Origin == (Origin{}))
	case 2:
		d.fixed(r.LaneHash[:])
	case 3:
		v, err := parse(d.bytes(), d.lax, (*FarVerdict).field)
		if err != nil {
			d.fail(err)
		}
		r.Verdicts = append(r.Verdicts, v)
	default:
		d.unknown()
	}
}

// check refuses a record that says nothing.
func (r *VerdictsHeard) check() error {
	if len(r.Verdicts) == 0 {
		return errIncomplet
	}
	return nil
}

func (r *FarVerdict) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.About = d.uint()
	case 2:
		r.State = d.receiptState()
	case 3:
		r.HubSeq = d.uint()
	case 4:
		r.HubMsgID = d.uint()
	case 5:
		d.texts(&r.Recipients)
	case 6:
		d.texts(&r.Stale)
	case 7:
		r.Wake = append(r.Wake, d.nameWake())
	case 8:
		r.Reason = d.text()
	case 9:
		r.DeadLettered = d.flag()
	case 10:
		r.ChatSeq = d.uint()
	case 11:
		r.MsgID = d.uint()
	case 12:
		r.Sender = d.text()
	case 13:
		r.Target = d.text()
	case 14:
		r.ClientMsgID = d.text()
	case 15:
		r.Tells = d.receiptState()
	default:
		d.unknown()
	}
}

// check refuses a verdict without a state.
func (r *FarVerdict) check() error {
	if r.State < ReceiptDelivered || r.State > ReceiptExpired {
		return errIncomplet
	}
	return nil
}
