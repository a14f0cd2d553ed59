package transport

import (
	"github.com/quic-go/quic-go"

	"fleetrelay/hub/wire"
)

// closeReasons gives the application error code, which is the index, by which
// a reason crosses a link. Append only: codes are never changed or used again.
// A reason that is missing here crosses as link_lost, and so does code 0, with
// which a connection ends that was closed without a reason.
var closeReasons = [...]wire.Reason{
	0:  wire.ReasonLinkLost,
	1:  wire.ReasonHubShutdown,
	2:  wire.ReasonLinkReplaced,
	3:  wire.ReasonLinkDuplicate,
	4:  wire.ReasonRewound,
	5:  wire.ReasonCloned,
	6:  wire.ReasonRelayVersion,
	7:  wire.ReasonLinkProtocol,
	8:  wire.ReasonFrameTooLarge,
	9:  wire.ReasonSelfDial,
	10: wire.ReasonUnknownPeer,
	11: wire.ReasonPinMismatch,
	12: wire.ReasonWrongHubID,
	13: wire.ReasonInternalError,
	14: wire.ReasonJournalFailed,
	15: wire.ReasonMalformedJSON,
	16: wire.ReasonSlowReader,
	17: wire.ReasonPeerRevoked,
}

func codeOf(reason wire.Reason) quic.ApplicationErrorCode {
	for code, r := range closeReasons {
		if r == reason {
			return quic.ApplicationErrorCode(code)
		}
	}
	return 0
}

func reasonOf(code quic.ApplicationErrorCode) wire.Reason {
	if code >= quic.ApplicationErrorCode(len(closeReasons)) {
		return wire.ReasonLinkLost
	}
	return closeReasons[code]
}
