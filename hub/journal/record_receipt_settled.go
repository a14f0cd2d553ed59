package journal

import "google.golang.org/protobuf/encoding/protowire"

// ReceiptSettled fixes what the sender of a chat is told; it also creates the notification row. For a sender of this hub
// that wrote to another one it is what this hub itself says, RemoteHub being the other. Of a chat of another hub it is
// part of a VerdictsSaid and no event of its own.
type ReceiptSettled struct {
	ChatSeq, MsgID              uint64
	Sender, Target, ClientMsgID string
	State                       ReceiptState
	Recipients, Matched, Stale  []string
	Wake                        []NameWake
	Reason                      string
	DeadLettered                bool
	RemoteHub                   string // of the chat's target, "" for this hub
	About                       uint64 // of the chat, in our lane to RemoteHub or in its hub's lane to us
}

// Kind is KindReceiptSettled.
func (ReceiptSettled) Kind() Kind { return KindReceiptSettled }

// Append appends the record's fields to dst.
func (r ReceiptSettled) Append(dst []byte) []byte {
	dst = appendUint(dst, 1, r.ChatSeq)
	dst = appendUint(dst, 2, r.MsgID)
	dst = appendText(dst, 3, r.Sender)
	dst = appendText(dst, 4, r.Target)
	dst = appendText(dst, 5, r.ClientMsgID)
	dst = appendUint(dst, 6, uint64(r.State))
	dst = appendTexts(dst, 7, r.Recipients)
	dst = appendTexts(dst, 8, r.Matched)
	dst = appendTexts(dst, 9, r.Stale)
	for _, w := range r.Wake {
		dst = appendNameWake(dst, 10, w)
	}
	dst = appendText(dst, 11, r.Reason)
	dst = appendFlag(dst, 12, r.DeadLettered)
	dst = appendText(dst, 13, r.RemoteHub)
	return appendUint(dst, 16, r.About)
}

// ParseReceiptSettled reads what Append wrote; unknown fields are an error.
func ParseReceiptSettled(attrs []byte) (ReceiptSettled, error) {
	return parse(attrs, false, (*ReceiptSettled).field)
}

func (r *ReceiptSettled) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.ChatSeq = d.uint()
	case 2:
		r.MsgID = d.uint()
	case 3:
		r.Sender = d.text()
	case 4:
		r.Target = d.text()
	case 5:
		r.ClientMsgID = d.text()
	case 6:
		r.State = d.receiptState()
	case 7:
		d.texts(&r.Recipients)
	case 8:
		d.texts(&r.Matched)
	case 9:
		d.texts(&r.Stale)
	case 10:
		r.Wake = append(r.Wake, d.nameWake())
	case 11:
		r.Reason = d.text()
	case 12:
		r.DeadLettered = d.flag()
	case 13:
		r.RemoteHub = d.text()
	case 16:
		r.About = d.uint()
	default:
		d.unknown()
	}
}

// check refuses a receipt without a state.
func (r *ReceiptSettled) check() error {
	if r.State < ReceiptDelivered || r.State > ReceiptExpired {
		return errIncomplet
	}
	return nil
}

// ReceiptState is the state of a receipt. Numbers are on disk: append only.
type ReceiptState uint8

const (
	// ReceiptDelivered is final: handed to every matched recipient at once.
	ReceiptDelivered ReceiptState = 1
	// ReceiptPending waits in a mailbox.
	ReceiptPending ReceiptState = 2
	// ReceiptDeferred is final: delivered out of a mailbox.
	ReceiptDeferred ReceiptState = 3
	// ReceiptExpired is final: it left the mailbox undelivered.
	ReceiptExpired ReceiptState = 4
)

// String is the wire word.
func (s ReceiptState) String() string {
	switch s {
	case ReceiptDelivered:
		return "immediate_delivered"
	case ReceiptPending:
		return "pending"
	case ReceiptDeferred:
		return "deferred"
	case ReceiptExpired:
		return "expired"
	}
	return "unknown"
}

func (d *decoder) receiptState() ReceiptState {
	v := d.uint()
	if v > uint64(ReceiptExpired) {
		d.fail(errIncomplet)
	}
	return ReceiptState(v)
}

// NameWake is a name with the wake hint it announced.
type NameWake struct{ Name, Wake string }

func appendNameWake(dst []byte, num protowire.Number, w NameWake) []byte {
	var buf [256]byte
	inner := appendText(buf[:0], 1, w.Name)
	return appendBytes(dst, num, appendText(inner, 2, w.Wake))
}

func (d *decoder) nameWake() NameWake {
	w, err := parse(d.bytes(), d.lax, (*NameWake).field)
	if err != nil {
		d.fail(err)
	}
	return w
}

func (w *NameWake) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		w.Name = d.text()
	case 2:
		w.Wake = d.text()
	default:
		d.unknown()
	}
}
