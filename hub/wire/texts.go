package wire

import "strings"

// Sentences for people in hub frames. Clients must not parse them; they are our own
// words, and what they repeat of a frame is bounded.

// NameTakenText says that a name is held by another socket.
func NameTakenText(name string) string {
	return "The name '" + clip(name) + "' belongs to another connection; choose a different one or ask for a takeover."
}

// NameSwitchText says that a connection keeps the name it registered.
func NameSwitchText(bound, asked string) string {
	return "This connection is registered as '" + clip(bound) + "' and cannot speak as '" + clip(asked) + "'; open another connection for that."
}

// AuthDeniedText says why a token did not open the hub. Any other reason than the
// three of tokens gets the general sentence.
func AuthDeniedText(reason Reason, name string) string {
	switch reason {
	case ReasonTokenRequired:
		return "This hub needs a token in the first frame."
	case ReasonTokenInvalid:
		return "This hub does not know the token."
	case ReasonTokenNotForName:
		return "The token was not issued for the name '" + clip(name) + "'."
	}
	return "This hub refused the registration."
}

func receiptText(f *Receipt) string {
	switch {
	case f.Shape == ReceiptDeferred:
		return "Taken from the mailbox by " + nameList(f.Recipients) + "."
	case f.Shape == ReceiptExpired:
		return expiredText(f)
	case f.Delivered:
		return "Reached " + nameList(f.Recipients) + "."
	case f.RemoteHub != "" && !f.DeadLettered:
		return remoteText(f)
	case f.Reason == ReasonNoLiveRecipient:
		return "No recipient of '" + clip(f.MessageTarget) + "' shows signs of life."
	}
	return "Nobody online answers to '" + clip(f.MessageTarget) + "'."
}

// expiredText is the end of a receipt. What another hub refused, or what never left,
// has a known outcome.
func expiredText(f *Receipt) string {
	switch {
	case f.RemoteHub == "" || f.Reason == ReasonPendingWindowEvicted:
		return "This hub no longer waits for the message to be taken; its outcome stays unknown."
	case f.Reason == ReasonRelayExpired:
		return "The message never left for hub " + string(f.RemoteHub) + " and is not sent any more."
	}
	return "Hub " + string(f.RemoteHub) + " ended it: " + string(f.Reason) + "."
}

// remoteText is what is known of a chat for another hub that has not been delivered.
func remoteText(f *Receipt) string {
	hub := string(f.RemoteHub)
	switch f.Reason {
	case ReasonProfileGap:
		return "Held durably for hub " + hub + "; no receipt crosses the link to it."
	case ReasonRelayPending:
		return "Held durably for hub " + hub + "; it has not left yet."
	case ReasonRelayUnconfirmed:
		return "Sent to hub " + hub + ", which has not confirmed it; whether it is there is not known."
	case ReasonRelayAdmitted:
		return "Hub " + hub + " has it; what became of it there has not been said yet."
	}
	return "Hub " + hub + " did not take it: " + string(f.Reason) + "."
}

func livenessText(stale, passive []string) string {
	var parts []string
	if len(stale) > 0 {
		parts = append(parts, "no sign of life from "+nameList(stale))
	}
	if len(passive) > 0 {
		parts = append(parts, "only a passive receiver for "+nameList(passive))
	}
	return "The message may stay unread: " + strings.Join(parts, "; ") + "."
}

// nameList names at most four agents, so that a broadcast's receipt stays small.
func nameList(names []string) string {
	const shown = 4
	if len(names) == 0 {
		return "nobody"
	}
	more := ""
	if len(names) > shown {
		names, more = names[:shown], " and others"
	}
	clipped := make([]string, len(names))
	for i, n := range names {
		clipped[i] = clip(n)
	}
	return strings.Join(clipped, ", ") + more
}
