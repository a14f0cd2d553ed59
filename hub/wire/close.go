package wire

// Close is how a socket is closed for a reason: the WebSocket code and the text that
// public clients tell the shared codes apart by.
type Close struct {
	Code   int
	Text   string
	Reason Reason
}

// CloseOf returns how a socket is closed for a reason; ok is false for a reason that
// closes none. Where public hubs have a text it is theirs; they send none with 1001.
func CloseOf(reason Reason) (c Close, ok bool) {
	code, text := closeWords(reason)
	return Close{Code: code, Text: text, Reason: reason}, code != 0
}

func closeWords(reason Reason) (code int, text string) {
	switch reason {
	case ReasonHubShutdown:
		return 1001, ""
	case ReasonMessageTooLarge:
		return 1009, "message too large"
	case ReasonInternalError:
		return 1011, "internal error"
	case ReasonPingTimeout:
		return 1011, "ping timeout"
	case ReasonSlowReader:
		return 1013, "slow reader"
	case ReasonNameConflict:
		return 4009, "name conflict"
	case ReasonNameSwitch:
		return 4009, "name switch"
	case ReasonReservedIdentity, ReasonInvalidName:
		return 4009, "reserved identity"
	case ReasonAuthDenied, ReasonTokenRequired, ReasonTokenInvalid, ReasonTokenNotForName:
		return 4010, "auth denied"
	case ReasonAuthRequired:
		return 4010, "auth required"
	case ReasonRegistrationRequired:
		return 4010, "registration required"
	case ReasonSuperseded:
		return 4010, "superseded"
	case ReasonAuthTimeout:
		return 4012, "auth timeout"
	case ReasonRegistrationTimeout:
		return 4012, "registration timeout"
	case ReasonHubAtCapacity:
		return 4013, "hub at capacity"
	case ReasonTakeoverCooldown:
		return 4014, "takeover cooldown"
	case ReasonTakeoverQuarantine:
		return 4014, "takeover quarantine"
	case ReasonTooManyUnauthenticated:
		return 4014, "too many unauthenticated connections"
	case ReasonTooManyFromHost:
		return 4015, "too many connections from host"
	}
	return 0, ""
}
