package wire

import (
	"strconv"
	"strings"
)

// VerdictState is what a hub says of a chat that another hub sent it.
type VerdictState uint8

// Verdict states. The zero value is none.
const (
	// VerdictDelivered is final: the addressed seat was live.
	VerdictDelivered VerdictState = 1
	// VerdictPending says that the chat waits in the seat's mailbox.
	VerdictPending VerdictState = 2
	// VerdictDeferred is final: taken out of the mailbox.
	VerdictDeferred VerdictState = 3
	// VerdictExpired is final: nobody waits any more for its being taken.
	VerdictExpired VerdictState = 4
)

var verdictStates = [...]string{
	VerdictDelivered: "delivered", VerdictPending: "pending", VerdictDeferred: "deferred", VerdictExpired: "expired",
}

// String is the state's word on a link.
func (s VerdictState) String() string {
	if s == 0 || int(s) >= len(verdictStates) {
		return "verdict state " + strconv.Itoa(int(s))
	}
	return verdictStates[s]
}

func parseVerdictState(word []byte) VerdictState {
	for s, known := range verdictStates {
		if s > 0 && known == string(word) {
			return VerdictState(s)
		}
	}
	return 0
}

// Bounds of the verdicts of one record.
const (
	// MaxVerdicts is the most verdicts, and MaxVerdictsBytes the most bytes of the body.
	MaxVerdicts      = 256
	MaxVerdictsBytes = 64 << 10
	maxVerdictNum    = 1 << 53
	maxVerdictWord   = 64
)

// Verdict is what became of one chat of the receiving hub's own lane. It names the
// addressed seat and nobody else, without a hub part. A lane record of the kind
// receipt carries a list of them, see [AppendVerdicts].
//
// On the wire it is canonical JSON: these members in this order, no white space,
// shortest escapes, so that one verdict has one encoding.
type Verdict struct {
	LaneSeq      uint64 // of the chat, in the lane it came in; at least 1
	State        VerdictState
	HubSeq       uint64     // the chat's seq on the hub that says this; at least 1
	HubMsgID     uint64     // and its msg_id
	Recipients   []string   // the seat, if it has the chat
	Stale        []string   // the seat, if it is there without a sign of life
	Wake         []NameWake // the seat's wake capability, if it is there
	Reason       Reason     // pending and expired
	DeadLettered bool       // pending
}

// Append appends one verdict. Names must be valid UTF-8 within the bounds of
// [Verdict.Check].
func (v *Verdict) Append(dst []byte) []byte {
	dst = append(dst, `{"lane_seq":`...)
	dst = strconv.AppendUint(dst, v.LaneSeq, 10)
	dst = appendText(dst, "state", v.State.String())
	dst = appendUint(dst, "hub_seq", v.HubSeq)
	dst = appendUint(dst, "hub_msg_id", v.HubMsgID)
	dst = appendList(dst, "recipients", v.Recipients)
	dst = appendList(dst, "stale", v.Stale)
	dst = appendWakes(dst, "wake", v.Wake)
	dst = appendText(dst, "reason", string(v.Reason))
	return append(appendBool(dst, "dead_lettered", v.DeadLettered), '}')
}

// Seat is the seat the verdict names, "" if it names none.
func (v *Verdict) Seat() string {
	switch {
	case len(v.Recipients) > 0:
		return v.Recipients[0]
	case len(v.Stale) > 0:
		return v.Stale[0]
	case len(v.Wake) > 0:
		return v.Wake[0].Name
	}
	return ""
}

// Check holds a verdict to its bounds and to itself: at most one seat, the same
// everywhere, and no more said than the state has. The reason is malformed_receipt.
func (v *Verdict) Check() error {
	if len(v.Recipients)+len(v.Stale) > 1 || len(v.Wake) > 1 || !v.bounded() || !v.fitsState() {
		return badVerdict()
	}
	seat := v.Seat()
	if (seat == "" && len(v.Recipients)+len(v.Stale)+len(v.Wake) > 0) || len(seat) > MaxNameBytes ||
		(len(v.Wake) > 0 && v.Wake[0].Name != seat) {
		return badVerdict()
	}
	return nil
}

func (v *Verdict) bounded() bool {
	for _, n := range [...]uint64{v.LaneSeq, v.HubSeq, v.HubMsgID} {
		if n == 0 || n >= maxVerdictNum {
			return false
		}
	}
	for _, w := range v.Wake {
		if len(w.Wake) > maxVerdictWord {
			return false
		}
	}
	return v.Reason == "" || isReasonWord(string(v.Reason)) && !IsOwnWord(v.Reason)
}

// IsOwnWord says whether a reason is one that only the hub where a message was accepted can know: how far its record came.
// Another hub that says it would speak of what it cannot see.
func IsOwnWord(r Reason) bool { return strings.HasPrefix(string(r), "relay_") }

func isReasonWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && !isDigit(c) {
			return false
		}
	}
	return len(s) <= maxVerdictWord
}

// fitsState says that the members are those of the state.
func (v *Verdict) fitsState() bool {
	there := len(v.Stale)+len(v.Wake) > 0
	switch v.State {
	case VerdictDelivered:
		return len(v.Recipients) == 1 && len(v.Stale) == 0 && v.Reason == "" && !v.DeadLettered
	case VerdictPending:
		return len(v.Recipients) == 0 && v.Reason != "" && v.DeadLettered
	case VerdictDeferred:
		return len(v.Recipients) == 1 && !there && v.Reason == "" && !v.DeadLettered
	case VerdictExpired:
		return len(v.Recipients) == 0 && !there && v.Reason != "" && !v.DeadLettered
	}
	return false
}

func badVerdict() error {
	return &JSONError{Reason: ReasonMalformedReceipt, Rule: RuleMember, Offset: -1}
}
