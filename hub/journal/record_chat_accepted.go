package journal

import "google.golang.org/protobuf/encoding/protowire"

// ChatAccepted is a chat this hub took responsibility for; the body is the carried body.
type ChatAccepted struct {
	MsgID                        uint64
	Sender, Target               string
	HasTarget                    bool // false: Target is not kept
	Principal                    string
	ClientMsgID, ClientTimestamp string // ClientTimestamp is raw JSON number text
	ReceiptRequested             bool
	Dest                         string  // peer hub id, "" local
	LaneSeq                      uint64  // our lane to Dest
	Origin                       *Origin // on a record that came over a link; Sender is then seat@origin
	// AwaitsRemote says that this hub waits for Dest's verdict to tell its sender. A receipt may be requested without:
	// of a peer that gives none, and by a build that did not wait.
	AwaitsRemote bool
}

// Kind is KindChatAccepted.
func (ChatAccepted) Kind() Kind { return KindChatAccepted }

// Append appends the record's fields to dst.
func (r ChatAccepted) Append(dst []byte) []byte {
	dst = appendUint(dst, 1, r.MsgID)
	dst = appendText(dst, 2, r.Sender)
	if r.HasTarget {
		dst = appendPresentText(dst, 3, r.Target)
	}
	dst = appendText(dst, 4, r.Principal)
	dst = appendText(dst, 5, r.ClientMsgID)
	dst = appendText(dst, 6, r.ClientTimestamp)
	dst = appendFlag(dst, 7, r.ReceiptRequested)
	dst = appendText(dst, 8, r.Dest)
	dst = appendUint(dst, 9, r.LaneSeq)
	if r.Origin != nil {
		dst = appendOrigin(dst, 10, r.Origin)
	}
	return appendFlag(dst, 11, r.AwaitsRemote)
}

// ParseChatAccepted reads what Append wrote; unknown fields are an error.
func ParseChatAccepted(attrs []byte) (ChatAccepted, error) {
	return parse(attrs, false, (*ChatAccepted).field)
}

func (r *ChatAccepted) field(d *decoder, num protowire.Number) {
	switch num {
	case 1:
		r.MsgID = d.uint()
	case 2:
		r.Sender = d.text()
	case 3:
		r.Target, r.HasTarget = d.presentText(), true
	case 4:
		r.Principal = d.text()
	case 5:
		r.ClientMsgID = d.text()
	case 6:
		r.ClientTimestamp = d.text()
	case 7:
		r.ReceiptRequested = d.flag()
	case 8:
		r.Dest = d.text()
	case 9:
		r.LaneSeq = d.uint()
	case 10:
		o := d.origin()
		r.Origin = &o
	case 11:
		r.AwaitsRemote = d.flag()
	default:
		d.unknown()
	}
}
