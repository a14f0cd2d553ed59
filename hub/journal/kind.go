package journal

import "strconv"

// Kind names what an event states. The list is append-only: numbers are on disk for ever, retired ones stay blank.
type Kind uint16

// The kinds, in the order they were introduced.
const (
	KindEpochStarted         Kind = 1
	KindChatAccepted         Kind = 2
	KindReceiptSettled       Kind = 3
	KindNotificationsSettled Kind = 4
	KindWatermarkRaised      Kind = 5
	KindTokenCreated         Kind = 6
	KindTokenRevoked         Kind = 7
	KindPeerApproved         Kind = 8
	KindInboundRefused       Kind = 9
	KindLaneAcked            Kind = 10
	KindRemoteRefused        Kind = 11
	KindRecordQuarantined    Kind = 12
	KindSnapshotTaken        Kind = 13
	KindBodyPurged           Kind = 14
	KindInviteCreated        Kind = 15
	KindPeerJoined           Kind = 16
	KindPeerCalled           Kind = 17
	KindPeerRejected         Kind = 18
	KindPeerRevoked          Kind = 19
	KindProfileAgreed        Kind = 25
	KindLinkBackoff          Kind = 26
	KindLaneReconciled       Kind = 27
	KindLaneAdopted          Kind = 28
	KindLaneResumed          Kind = 29
	KindVerdictsSaid         Kind = 30
	KindVerdictsHeard        Kind = 31
	KindInviteWithdrawn      Kind = 32
)

// Kinds of what crosses a link and comes back.
const (
	KindLinkOpened      Kind = 21
	KindLinkClosed      Kind = 22
	KindRecordWithdrawn Kind = 23
)

// An event's Format holds the number of its record's layout in the low bits and two promises of its writer.
const (
	// FormatNumber masks the layout number. A reader refuses a number above the one it knows.
	FormatNumber uint8 = 0x3f
	// FormatIgnorable says that a reader without the kind may skip the event: it repeats, loses and ends no work.
	FormatIgnorable uint8 = 0x40
	// FormatAdditive says that a reader may ignore fields it does not know.
	FormatAdditive uint8 = 0x80
)

// kindInfo is what this build knows of a kind.
type kindInfo struct {
	name   string
	format uint8 // newest layout number this build reads and the one it writes
	parse  func(attrs []byte, lax bool) (any, error)
}

// kinds is indexed by Kind; an empty name is an unknown kind. Read only.
var kinds = [...]kindInfo{
	KindEpochStarted:         {"epoch_started", 1, parser((*EpochStarted).field)},
	KindChatAccepted:         {"chat_accepted", 1, parser((*ChatAccepted).field)},
	KindReceiptSettled:       {"receipt_settled", 1, parser((*ReceiptSettled).field)},
	KindNotificationsSettled: {"notifications_settled", 1, parser((*NotificationsSettled).field)},
	KindWatermarkRaised:      {"watermark_raised", 1, parser((*WatermarkRaised).field)},
	KindTokenCreated:         {"token_created", 1, parser((*TokenCreated).field)},
	KindTokenRevoked:         {"token_revoked", 1, parser((*TokenRevoked).field)},
	KindPeerApproved:         {"peer_approved", 2, parser((*PeerApproved).field)}, // 1: at most one endpoint, no invite
	KindInboundRefused:       {"inbound_refused", 1, parser((*InboundRefused).field)},
	KindLaneAcked:            {"lane_acked", 1, parser((*LaneAcked).field)},
	KindRemoteRefused:        {"remote_refused", 1, parser((*RemoteRefused).field)},
	KindRecordQuarantined:    {"record_quarantined", 1, parser((*RecordQuarantined).field)},
	KindSnapshotTaken:        {"snapshot_taken", 1, parser((*SnapshotTaken).field)},
	KindBodyPurged:           {"body_purged", 1, parser((*BodyPurged).field)},
	KindInviteCreated:        {"invite_created", 1, parser((*InviteCreated).field)},
	KindPeerJoined:           {"peer_joined", 1, parser((*PeerJoined).field)},
	KindPeerCalled:           {"peer_called", 1, parser((*PeerCalled).field)},
	KindPeerRejected:         {"peer_rejected", 2, parser((*PeerRejected).field)}, // 1: no endpoints, no invite
	KindPeerRevoked:          {"peer_revoked", 1, parser((*PeerRevoked).field)},
	KindProfileAgreed:        {"profile_agreed", 1, parser((*ProfileAgreed).field)},
	KindLinkBackoff:          {"link_backoff", 2, parser((*LinkBackoff).field)}, // 1: no revocation
	KindLinkOpened:           {"link_opened", 1, parser((*LinkOpened).field)},
	KindLinkClosed:           {"link_closed", 1, parser((*LinkClosed).field)},
	KindRecordWithdrawn:      {"record_withdrawn", 1, parser((*RecordWithdrawn).field)},
	KindLaneReconciled:       {"lane_reconciled", 1, parser((*LaneReconciled).field)},
	KindLaneAdopted:          {"lane_adopted", 1, parser((*LaneAdopted).field)},
	KindLaneResumed:          {"lane_resumed", 1, parser((*LaneResumed).field)},
	KindVerdictsSaid:         {"verdicts_said", 1, parser((*VerdictsSaid).field)},
	KindVerdictsHeard:        {"verdicts_heard", 1, parser((*VerdictsHeard).field)},
	KindInviteWithdrawn:      {"invite_withdrawn", 1, parser((*InviteWithdrawn).field)},
}

// Kinds lists every kind this build knows, in order.
func Kinds() []Kind {
	var out []Kind
	for k := range kinds {
		if kinds[k].name != "" {
			out = append(out, Kind(k))
		}
	}
	return out
}

func (k Kind) info() (kindInfo, bool) {
	if int(k) >= len(kinds) || kinds[k].name == "" {
		return kindInfo{}, false
	}
	return kinds[k], true
}

// String is the kind's word in exports and logs, or "kind_N" for one this build does not know.
func (k Kind) String() string {
	if info, ok := k.info(); ok {
		return info.name
	}
	return "kind_" + strconv.Itoa(int(k))
}
