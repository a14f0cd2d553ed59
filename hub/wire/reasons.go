package wire

// Reason is one word of the closed list of refusals, drops and closes. The same word
// stands in the wire, the log, the metric and the command line; it is never reused
// for another meaning, and retired words stay listed. Add a word to a section and
// to the table below it, both sorted; a test compares the two.
type Reason string

// Receipts: why a chat met nobody, or will never be settled.
const (
	ReasonNoLiveRecipient      Reason = "no_live_recipient"
	ReasonNoOnlineRecipient    Reason = "no_online_recipient"
	ReasonPendingWindowEvicted Reason = "pending_window_evicted"
)

// Sessions: why an agent's socket was refused or closed.
const (
	ReasonAuthDenied             Reason = "auth_denied"
	ReasonAuthRequired           Reason = "auth_required"
	ReasonAuthTimeout            Reason = "auth_timeout"
	ReasonClientClosed           Reason = "client_closed"
	ReasonConnectionLost         Reason = "connection_lost"
	ReasonHostNotAllowed         Reason = "host_not_allowed"
	ReasonHubAtCapacity          Reason = "hub_at_capacity"
	ReasonHubShutdown            Reason = "hub_shutdown"
	ReasonIdentityRefused        Reason = "identity_refused"
	ReasonInternalError          Reason = "internal_error"
	ReasonInvalidName            Reason = "invalid_name"
	ReasonMessageTooLarge        Reason = "message_too_large"
	ReasonNameConflict           Reason = "name_conflict"
	ReasonNameOwned              Reason = "name_owned"
	ReasonNameSwitch             Reason = "name_switch"
	ReasonOriginNotAllowed       Reason = "origin_not_allowed"
	ReasonPingTimeout            Reason = "ping_timeout"
	ReasonRegistrationRequired   Reason = "registration_required"
	ReasonRegistrationTimeout    Reason = "registration_timeout"
	ReasonReservedIdentity       Reason = "reserved_identity"
	ReasonSlowReader             Reason = "slow_reader"
	ReasonSuperseded             Reason = "superseded"
	ReasonTakeoverCooldown       Reason = "takeover_cooldown"
	ReasonTakeoverQuarantine     Reason = "takeover_quarantine"
	ReasonTooManyFromHost        Reason = "too_many_from_host"
	ReasonTooManyUnauthenticated Reason = "too_many_unauthenticated"
	ReasonWriteFailed            Reason = "write_failed"
)

// Frames: why one frame of an agent was refused.
const (
	ReasonInvalidAddress     Reason = "invalid_address"
	ReasonInvalidAnswer      Reason = "invalid_answer"
	ReasonMalformedFrame     Reason = "malformed_frame"
	ReasonMalformedJSON      Reason = "malformed_json"
	ReasonNotPermitted       Reason = "not_permitted"
	ReasonOneTargetOnly      Reason = "one_target_only"
	ReasonOutboxFull         Reason = "outbox_full"
	ReasonQuarantined        Reason = "quarantined"
	ReasonTokenInvalid       Reason = "token_invalid"
	ReasonTokenNotForName    Reason = "token_not_for_name"
	ReasonTokenRequired      Reason = "token_required"
	ReasonUnknownHub         Reason = "unknown_hub"
	ReasonUnknownType        Reason = "unknown_type"
	ReasonUnsupportedChannel Reason = "unsupported_channel"
)

// Links: why a message waits or a link to a peer was refused or ended.
const (
	ReasonCertificateExpired     Reason = "certificate_expired"
	ReasonCertificateNotYetValid Reason = "certificate_not_yet_valid"
	ReasonCertificateRefused     Reason = "certificate_refused"
	ReasonCloned                 Reason = "cloned"
	ReasonDigestMismatch         Reason = "digest_mismatch"
	ReasonFrameTooLarge          Reason = "frame_too_large"
	ReasonLinkDuplicate          Reason = "link_duplicate"
	ReasonLinkLost               Reason = "link_lost"
	ReasonLinkProtocol           Reason = "link_protocol"
	ReasonLinkReplaced           Reason = "link_replaced"
	ReasonMalformedOrigin        Reason = "malformed_origin"
	ReasonMalformedReceipt       Reason = "malformed_receipt"
	ReasonNoCertificate          Reason = "no_certificate"
	ReasonPeerPending            Reason = "peer_pending"
	ReasonPeerRejected           Reason = "peer_rejected"
	ReasonPeerRevoked            Reason = "peer_revoked"
	ReasonPinMismatch            Reason = "pin_mismatch"
	ReasonProfileGap             Reason = "profile_gap"
	ReasonProfileMismatch        Reason = "profile_mismatch"
	ReasonRelayAdmitted          Reason = "relay_admitted"
	ReasonRelayExpired           Reason = "relay_expired"
	ReasonRelayPending           Reason = "relay_pending"
	ReasonRelayUnconfirmed       Reason = "relay_unconfirmed"
	ReasonRelayVersion           Reason = "relay_version"
	ReasonRewound                Reason = "rewound"
	ReasonSelfDial               Reason = "self_dial"
	ReasonTooManyHops            Reason = "too_many_hops"
	ReasonUnknownPeer            Reason = "unknown_peer"
	ReasonWrongHubID             Reason = "wrong_hub_id"
	ReasonWrongKeyUsage          Reason = "wrong_key_usage"
	ReasonWrongOrigin            Reason = "wrong_origin"
)

// Peers: why the administrator's change of trust was refused.
const (
	ReasonHubIDTaken      Reason = "hub_id_taken"
	ReasonInvalidHubID    Reason = "invalid_hub_id"
	ReasonInvalidInvite   Reason = "invalid_invite"
	ReasonInvalidPattern  Reason = "invalid_pattern"
	ReasonInvalidPin      Reason = "invalid_pin"
	ReasonInviteExpired   Reason = "invite_expired"
	ReasonInviteUsed      Reason = "invite_used"
	ReasonInviteWithdrawn Reason = "invite_withdrawn"
	ReasonNoSuchInvite    Reason = "no_such_invite"
	ReasonNoSuchPending   Reason = "no_such_pending"
	ReasonOwnHubID        Reason = "own_hub_id"
	ReasonOwnPin          Reason = "own_pin"
	ReasonPatternsMissing Reason = "patterns_missing"
	ReasonPendingFull     Reason = "pending_full"
	ReasonPinTaken        Reason = "pin_taken"
	ReasonPinsMissing     Reason = "pins_missing"
	ReasonTooManyInvites  Reason = "too_many_invites"
)

// Journal: why a store was refused or the node stopped.
const (
	ReasonJournalCorrupt     Reason = "journal_corrupt"
	ReasonJournalFailed      Reason = "journal_failed"
	ReasonJournalNewerFormat Reason = "journal_newer_format"
	ReasonJournalRewound     Reason = "journal_rewound"
	ReasonNoBody             Reason = "no_body"
	ReasonNoSuchEvent        Reason = "no_such_event"
	ReasonStoreLocked        Reason = "store_locked"
	ReasonStoreMissing       Reason = "store_missing"
	ReasonWrongHub           Reason = "wrong_hub"
)

// Node: why a command or a start was refused.
const (
	ReasonAlreadyInitialised Reason = "already_initialised"
	ReasonAlreadyRunning     Reason = "already_running"
	ReasonCheckFailed        Reason = "check_failed"
	ReasonDiskFailed         Reason = "disk_failed"
	ReasonIdentityMissing    Reason = "identity_missing"
	ReasonInvalidConfig      Reason = "invalid_config"
	ReasonNotAnswering       Reason = "not_answering"
	ReasonNotRunning         Reason = "not_running"
	ReasonOpenHubNotLoopback Reason = "open_hub_not_loopback"
	ReasonPermissionDenied   Reason = "permission_denied"
	ReasonPortInUse          Reason = "port_in_use"
	ReasonUnknownConfigKey   Reason = "unknown_config_key"
	ReasonWrongUsage         Reason = "wrong_usage"
)

// ReasonInfo is what documentation and commands say about a reason.
type ReasonInfo struct {
	Word    Reason
	Meaning string // one sentence: what happened
	Next    string // one sentence for an operator: what to do
}

// Reasons lists every reason, in the order of the sections above. The caller owns
// the slice.
func Reasons() []ReasonInfo {
	var all []ReasonInfo
	for _, section := range [][]ReasonInfo{
		receiptReasons(), sessionReasons(), frameReasons(), linkReasons(), peerReasons(), journalReasons(), nodeReasons(),
	} {
		all = append(all, section...)
	}
	return all
}

// Explain returns what is known about a reason; ok is false for a word that is not
// in the list.
func Explain(word Reason) (info ReasonInfo, ok bool) {
	for _, r := range Reasons() {
		if r.Word == word {
			return r, true
		}
	}
	return ReasonInfo{}, false
}

func receiptReasons() []ReasonInfo {
	return []ReasonInfo{
		{ReasonNoLiveRecipient, "Recipients matched, but none of them showed a sign of life lately.", "Look at the recipient's session; the message waits in its mailbox."},
		{ReasonNoOnlineRecipient, "Nobody online matched the target.", "Check the target's spelling with fleet status, or wait: the message waits in the mailbox."},
		{ReasonPendingWindowEvicted, "Too many receipts were pending and the oldest was given up.", "Ask the recipient whether it has the message; its delivery goes on without a receipt."},
	}
}

func sessionReasons() []ReasonInfo {
	return []ReasonInfo{
		{ReasonAuthDenied, "The token did not open this hub, or was revoked while it was in use.", "Give the agent a token made with fleet agent token create."},
		{ReasonAuthRequired, "The first frame was unusable on a hub that needs a token.", "Send a well-formed first frame with the agent's token."},
		{ReasonAuthTimeout, "No authenticated frame came within the time for registration.", "Check that the client sends its registration at once, and the network between."},
		{ReasonClientClosed, "The agent closed its socket.", "Nothing to do; the mailbox keeps what comes meanwhile."},
		{ReasonConnectionLost, "The agent's connection broke without a close.", "Check the agent's machine and network if it does not come back."},
		{ReasonHostNotAllowed, "The upgrade named a host this listener does not answer for.", "Connect by the listener's own name or add the name to the allowed hosts."},
		{ReasonHubAtCapacity, "The hub holds as many sockets as it may.", "Close idle agents or raise the limit of sockets."},
		{ReasonHubShutdown, "The hub is stopping.", "Reconnect when it is up again; nothing accepted is lost."},
		{ReasonIdentityRefused, "A hub that checks signed registrations refused this identity.", "Register with the key the hub has pinned for the name, or have its operator reclaim the pin."},
		{ReasonInternalError, "Handling a frame failed in a way nobody foresaw.", "Look at the node's log and report what is there."},
		{ReasonInvalidName, "The name cannot be borne: blank, too long, or with characters that do not show.", "Choose a visible name of at most 256 bytes in Unicode normal form C."},
		{ReasonMessageTooLarge, "A message exceeded the largest size.", "Send less in one message, or a reference to it."},
		{ReasonNameConflict, "The name is already online from another connection.", "Use another name, or register with takeover."},
		{ReasonNameOwned, "A hub that lends names for a time has lent this one to another holder.", "Use another name, or register with the owner's lease."},
		{ReasonNameSwitch, "A bound socket used another sender name.", "Open one connection per name."},
		{ReasonOriginNotAllowed, "The upgrade came from a web page of an origin that is not allowed.", "Add the origin to the allow-list if that page is meant to connect."},
		{ReasonPingTimeout, "The agent did not answer a ping in time.", "Check that the agent runs and reads its socket."},
		{ReasonRegistrationRequired, "The first frame bound no name.", "Send a well-formed frame with a sender first."},
		{ReasonRegistrationTimeout, "No frame bound a name within the time for registration.", "Check that the client registers right after connecting."},
		{ReasonReservedIdentity, "The name belongs to the hub or to another hub's seats.", "Choose a name without @ that is not SynapseHub, synapse or system."},
		{ReasonSlowReader, "The socket's queue was full because its agent does not read.", "Find out why the agent is slow; on reconnecting it gets its mailbox."},
		{ReasonSuperseded, "Another connection took the name over.", "Nothing to do if that was meant; otherwise find the other session."},
		{ReasonTakeoverCooldown, "The name was taken over a moment ago.", "Wait two seconds before taking it over again."},
		{ReasonTakeoverQuarantine, "The name was taken over too often in a short time.", "Find the two sessions that fight for the name and stop one."},
		{ReasonTooManyFromHost, "One remote host holds as many sockets as it may.", "Close connections of that host or raise its limit."},
		{ReasonTooManyUnauthenticated, "Too many sockets are still authenticating.", "Wait, and look for clients that connect without registering."},
		{ReasonWriteFailed, "A frame could not be written to the socket in time.", "Check the agent's machine and network if it does not come back."},
	}
}

func frameReasons() []ReasonInfo {
	return []ReasonInfo{
		{ReasonInvalidAddress, "The target is not an address of the form NAME or NAME@HUB, or too long.", "Correct the target."},
		{ReasonInvalidAnswer, "The structured answer is incomplete, holds unlisted values or answers another chat.", "Send all three response members with listed values to the sender of the chat answered."},
		{ReasonMalformedFrame, "The JSON is not an object or a member has the wrong kind.", "Correct the client that built the frame."},
		{ReasonMalformedJSON, "The text is not strict JSON.", "Correct the client: UTF-8, no name twice, finite numbers, at most 64 levels."},
		{ReasonNotPermitted, "The receiving side has not granted this message's way.", "Ask the other hub's administrator for a may-reach pattern that covers the seat."},
		{ReasonOneTargetOnly, "A message to another hub must name exactly one seat.", "Send one message per seat."},
		{ReasonOutboxFull, "As many messages, or bytes, wait for that hub as may.", "Send it again later; see with fleet queue list what waits and why."},
		{ReasonQuarantined, "Handling the record failed; its bytes were put aside and the rest goes on.", "Find its bytes, kind record_quarantined, with fleet journal export, bodies included, and report them."},
		{ReasonTokenInvalid, "The token is not known here or was revoked.", "Make a new token with fleet agent token create."},
		{ReasonTokenNotForName, "The token was made for another seat.", "Use the seat's own token."},
		{ReasonTokenRequired, "The hub is secured and the first frame had no token.", "Give the agent a token made with fleet agent token create."},
		{ReasonUnknownHub, "The address names a hub that is not a peer.", "Peer with that hub, or correct the address."},
		{ReasonUnknownType, "The frame's type is not one this hub speaks.", "Use a type of wire version 2 that this hub lists in its documentation."},
		{ReasonUnsupportedChannel, "The chat names a channel and this hub has none.", "Address seats instead of a channel."},
	}
}

func linkReasons() []ReasonInfo {
	return []ReasonInfo{
		{ReasonCertificateExpired, "The peer's certificate is past its end.", "Have the peer renew its certificate, and check both clocks."},
		{ReasonCertificateNotYetValid, "The peer's certificate is not valid yet.", "Check both clocks."},
		{ReasonCertificateRefused, "The other hub refused this node's certificate; it does not say why.", "Ask the peer's administrator: their node's log names the cause."},
		{ReasonCloned, "The peer's copy of our lane differs from ours: two nodes live under one identity.", "Stop the copy and keep its folder; then settle it on both sides with fleet journal reconcile."},
		{ReasonDigestMismatch, "A record's body is not the one its origin block was made for.", "Report it to the peer's administrator: the record was altered after it was accepted."},
		{ReasonFrameTooLarge, "A link frame exceeded the agreed size.", "Update the older side; this is a fault of the peer's program."},
		{ReasonLinkDuplicate, "Both sides dialled at once and the other connection is kept.", "Nothing to do."},
		{ReasonLinkLost, "The link broke.", "Nothing to do: it is dialled again. Check the network if it does not return."},
		{ReasonLinkProtocol, "The peer sent something the link protocol does not allow.", "Update the older side; report it if both are current."},
		{ReasonLinkReplaced, "The peer restarted and opened a newer link.", "Nothing to do."},
		{ReasonMalformedOrigin, "A record's origin block cannot be read.", "Update the older side; this is a fault of the peer's program."},
		{ReasonMalformedReceipt, "A receipt of the peer cannot be read, or is for a record or a seat it is not about.", "Update the older side; this is a fault of the peer's program."},
		{ReasonNoCertificate, "The other side showed no certificate.", "Check that the endpoint is a Fleet node's link port."},
		{ReasonPeerPending, "The other hub has not approved this one yet.", "Read the code that fleet peer pending shows to its administrator, who approves on their side; it is called again by itself."},
		{ReasonPeerRejected, "The key was rejected here.", "Approve it with fleet peer approve if that was a mistake."},
		{ReasonPeerRevoked, "The peer's approval was revoked here.", "Approve the peer anew if it is meant to connect; what is queued for it is held."},
		{ReasonPinMismatch, "The peer's key is not one that was approved for its hub id.", "Compare pins with the peer's administrator; the right one is set by approving it with --replace."},
		{ReasonProfileGap, "The message needs more than the link to that hub admits.", "See with fleet peer show which member is lower, and on which side."},
		{ReasonProfileMismatch, "The two hubs differ about what their link admits, so only control frames cross it.", "Compare both hubs' versions, and what fleet peer show says of the profile on both sides."},
		{ReasonRelayAdmitted, "The other hub has the message; whether its seat got it has not been said here yet.", "Wait: the other hub's receipt follows. Look at the peer's link with fleet peer show."},
		{ReasonRelayExpired, "The message waited longer than messages may for that hub, and never left this node.", "Send it again once the peer is back; see with fleet queue list what waits and why."},
		{ReasonRelayPending, "The message has not left this node yet.", "Look at the peer's link with fleet peer show."},
		{ReasonRelayUnconfirmed, "The message has left this node and the other hub has not answered for it: whether it has it is not known.", "Wait: the answer follows when the link is back. Look at it with fleet peer show."},
		{ReasonRelayVersion, "The two nodes have no relay version in common.", "Update the older node."},
		{ReasonRewound, "The peer has seen more of our lane than our journal holds: the journal was rolled back.", "Keep the folder and restore the newer journal; if there is none, settle it on both sides with fleet journal reconcile."},
		{ReasonSelfDial, "The endpoint of a peer leads back to this node.", "Correct the peer's endpoint."},
		{ReasonTooManyHops, "A record came by way of another hub, and this relay version carries one hop.", "Peer with the hub of origin directly."},
		{ReasonUnknownPeer, "The key or hub id is not one of an approved peer.", "Approve it on this side if it is meant to connect."},
		{ReasonWrongHubID, "The certificate names another hub than the one expected.", "Check the peer's endpoint and hub id."},
		{ReasonWrongKeyUsage, "The certificate may not be used for this role.", "Have the peer make its identity anew with fleet init."},
		{ReasonWrongOrigin, "A record claims another hub, or another epoch, than the link it came over.", "Ask the peer's administrator why its hub speaks for another."},
	}
}

func peerReasons() []ReasonInfo {
	return []ReasonInfo{
		{ReasonHubIDTaken, "The hub id is a peer's already, or looks like one.", "To change that peer, approve it again with --replace; another hub must choose a distinct id."},
		{ReasonInvalidHubID, "The hub id is not of the allowed form.", "Use 1 to 64 of A-Z a-z 0-9 . _ - beginning with a letter or digit."},
		{ReasonInvalidInvite, "The token is not an invitation, or was altered on its way.", "Copy the whole token that the inviting side was given."},
		{ReasonInvalidPattern, "A may-reach pattern is not of the form PROJECT/SEAT or NAME.", "Correct the pattern; * and ? do not cross a slash."},
		{ReasonInvalidPin, "The pin is not the fingerprint of a key.", "Copy the whole pin that fleet status shows on the other hub."},
		{ReasonInviteExpired, "The invitation's time is over.", "Have the inviting side make a new one."},
		{ReasonInviteUsed, "The invitation was used by another hub already.", "Have the inviting side make a new one, and ask who used the old one."},
		{ReasonInviteWithdrawn, "The invitation was withdrawn before it was used.", "Make a new one for the hub that is meant."},
		{ReasonNoSuchInvite, "This hub has made no invitation with this id, or has forgotten it.", "Look with fleet peer invite list which there are."},
		{ReasonNoSuchPending, "No hub with this fingerprint or code waits for a decision.", "Look with fleet peer pending who waits, and copy the whole fingerprint or code."},
		{ReasonOwnHubID, "The hub id is this node's own, or looks like it.", "Check which node the command was run on."},
		{ReasonOwnPin, "The pin is that of this node's own key.", "Give the pin of the other hub: its administrator reads it from its own status."},
		{ReasonPatternsMissing, "Nothing would be allowed through: no may-reach pattern was given.", "Give at least one --may-reach pattern."},
		{ReasonPendingFull, "Too many hubs that nobody knows wait for a decision, so another was not noted.", "Approve or reject those who wait, or invite the hub that is meant: invited ones have room of their own."},
		{ReasonPinTaken, "The key is already approved for another hub id.", "Find out which id the key belongs to; a key names one hub only."},
		{ReasonPinsMissing, "No key pin was given.", "Give the fingerprint the other administrator told you."},
		{ReasonTooManyInvites, "As many invitations are open as may be.", "Look with fleet peer invite list which are open, and withdraw what nobody needs."},
	}
}

func journalReasons() []ReasonInfo {
	return []ReasonInfo{
		{ReasonJournalCorrupt, "The journal does not verify.", "Stop the node, see with fleet journal verify what is damaged, keep the folder and restore it from a backup."},
		{ReasonJournalFailed, "The journal could not be written or synced; the node stopped before telling anyone.", "Check disk space and the disk, then start the node again."},
		{ReasonJournalNewerFormat, "The journal was written by a newer program.", "Use the program version the FORMAT file names."},
		{ReasonJournalRewound, "The journal ends before what was already synced and told.", "Keep this folder, do not start from it, and restore the newer journal."},
		{ReasonNoBody, "The event has no body: it never had one, or it was purged.", "Look at the event with fleet journal inspect."},
		{ReasonNoSuchEvent, "The journal has no event with this number.", "Look at the number of events with fleet status."},
		{ReasonStoreLocked, "Another process has the journal open.", "Stop that process, or use its admin socket."},
		{ReasonStoreMissing, "There is no journal in the folder.", "Correct --dir, or make a node with fleet init."},
		{ReasonWrongHub, "The folder belongs to another hub id.", "Use that hub's own folder."},
	}
}

func nodeReasons() []ReasonInfo {
	return []ReasonInfo{
		{ReasonAlreadyInitialised, "The folder holds a node already.", "Use fleet serve, or another folder."},
		{ReasonAlreadyRunning, "A node runs on this folder already.", "Use it, or stop it first."},
		{ReasonCheckFailed, "A check or a measurement of this program failed, or found a promise broken.", "Look at what it printed before the error."},
		{ReasonDiskFailed, "A file of the node's folder cannot be written: no space, a read-only file system, or a failing disk.", "Make room or mend the disk the message names, then say it again."},
		{ReasonIdentityMissing, "The node's folder has no identity, the key by which its peers know it.", "Restore identity/ from a backup; without one the peers must approve a new node, made in another folder."},
		{ReasonInvalidConfig, "A setting has a value it cannot have.", "Correct the setting the message names."},
		{ReasonNotAnswering, "A node has the folder and did not answer in time: it was stopped by a signal, is stuck, or waits for its disk.", "Look at its process; if it does not go on, end it and start it again with fleet serve."},
		{ReasonNotRunning, "No node runs on this folder.", "Start it with fleet serve."},
		{ReasonOpenHubNotLoopback, "A hub without tokens would listen beyond this machine.", "Create agent tokens first, or listen on 127.0.0.1."},
		{ReasonPermissionDenied, "The node's folder or admin socket belongs to another user.", "Run the command as the user whose node it is."},
		{ReasonPortInUse, "The listening address is taken by another process.", "Stop that process or choose another address."},
		{ReasonUnknownConfigKey, "A setting is not one this program knows.", "Remove or correct the key the message names."},
		{ReasonWrongUsage, "The command line cannot be understood.", "Read the command's --help."},
	}
}
