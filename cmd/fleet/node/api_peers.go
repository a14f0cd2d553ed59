package node

// PeerStatus is one peer with its lanes and link. Link is "" on a stopped node.
type PeerStatus struct {
	Hub       string   `json:"hub"`
	Endpoints []string `json:"endpoints"` // empty: only it dials
	Pins      []string `json:"pins"`
	Code      string   `json:"code"` // of both hubs' ids and keys, the same on both sides
	MayReach  []string `json:"may_reach"`
	By        string   `json:"by"`
	User      string   `json:"user"`
	AddedUS   int64    `json:"added_us"`
	Link      string   `json:"link,omitzero"`
	LinkPath  string   `json:"link_path,omitzero"`
	LinkSince int64    `json:"link_since_us,omitzero"`
	// Of a link that is down: why, what was seen, whether the peer said so, and when it is dialled again.
	LinkReason   string `json:"link_reason,omitzero"`
	LinkDetail   string `json:"link_detail,omitzero"`
	LinkRemote   bool   `json:"link_remote,omitzero"`
	LinkAttempts int    `json:"link_attempts,omitzero"` // failed since a link last held
	LinkNextUS   int64  `json:"link_next_us,omitzero"`  // 0: none is due
	// LinkRevokedUS is when the peer said that it revoked its approval of this hub, 0 if a link has been up since. Later
	// refusals of it do not say why.
	LinkRevokedUS int64 `json:"link_revoked_us,omitzero"`
	// Of a link that is up: the round trip, how far the peer's clock is ahead of ours once RTTUS is known, and the first
	// record that waits because the profile does not admit it.
	RTTUS         int64  `json:"rtt_us,omitzero"`
	ClockOffsetUS int64  `json:"clock_offset_us,omitzero"`
	HeldSeq       uint64 `json:"held_lane_seq,omitzero"`
	// Profile is what the link admits, or admitted last; nil before the first.
	Profile *Profile `json:"profile,omitzero"`

	OutHead    uint64 `json:"out_head"`    // records accepted here for that hub
	OutAcked   uint64 `json:"out_acked"`   // of these, settled there: admitted or refused
	OutRefused uint64 `json:"out_refused"` // of these, refused there
	In         uint64 `json:"in"`          // records of that hub held here
}

// Profile is what two hubs agreed that their link admits.
type Profile struct {
	Number       uint64          `json:"number"` // of this peer's profiles, 0: not agreed on
	RelayVersion int             `json:"relay_version"`
	Digest       string          `json:"digest"`
	Members      []ProfileMember `json:"members"`
	Unknown      []string        `json:"unknown,omitzero"` // members that only the peer knows
}

// ProfileMember is one member and where its value comes from. Ours and Theirs are what each side offers, "" while there is
// no link; Lower is the side that offers less, "ours" or "theirs", "" if neither.
type ProfileMember struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Ours   string `json:"ours,omitzero"`
	Theirs string `json:"theirs,omitzero"`
	Lower  string `json:"lower,omitzero"`
}

// RevokedPeer is a hub whose approval was ended. What is queued for it is held.
type RevokedPeer struct {
	PeerStatus

	RevokedBy   string `json:"revoked_by"`
	RevokedUser string `json:"revoked_user"`
	Why         string `json:"why"`
	RevokedUS   int64  `json:"revoked_us"`
	// Already says, in the answer to a revocation, that the hub was revoked before, and the above is of that.
	Already bool `json:"already,omitzero"`
}

// Known are the hubs this node has decided about.
type Known struct {
	Peers    []PeerStatus  `json:"peers"`
	Revoked  []RevokedPeer `json:"revoked"`
	Rejected []Rejected    `json:"rejected"`
}

// Rejected is a key that was turned away and is refused by name.
type Rejected struct {
	Hub       string   `json:"hub"`  // what it said it is, which proves nothing
	Code      string   `json:"code"` // "" without a hub id; an approval by it lifts the rejection
	Pin       string   `json:"pin"`
	Endpoints []string `json:"endpoints"`
	By        string   `json:"by"`
	User      string   `json:"user"`
	AtUS      int64    `json:"at_us"`
}

// InviteRequest asks for an invitation. Endpoints empty are those the node announces, ExpiresS 0 is a day.
type InviteRequest struct {
	Endpoints []string `json:"endpoints,omitzero"`
	ExpiresS  int64    `json:"expires_s,omitzero"`
	By        string   `json:"by,omitzero"`
}

// Invite is an invitation that one other hub may use once. The token is a secret and shown this once.
type Invite struct {
	ID        string   `json:"id"`
	Token     string   `json:"token"`
	Hub       string   `json:"hub"`
	Pin       string   `json:"pin"`
	Endpoints []string `json:"endpoints"`
	Warning   string   `json:"warning,omitzero"` // why others may not reach them
	ExpiresUS int64    `json:"expires_us"`
}

// InviteStatus is an invitation of this hub, without its secret.
type InviteStatus struct {
	ID        string `json:"id"`
	By        string `json:"by"`
	User      string `json:"user"`
	CreatedUS int64  `json:"created_us"`
	ExpiresUS int64  `json:"expires_us"`
	Open      bool   `json:"open"`
	Ended     string `json:"ended,omitzero"` // invite_used, invite_withdrawn or invite_expired, "" while it is open
	Pin       string `json:"pin,omitzero"`   // that called with it
	Hub       string `json:"hub,omitzero"`   // what that key's owner said it is
}

// InviteList is the answer to a list request: the open invitations and the latest closed ones, the oldest first.
type InviteList struct {
	Invites []InviteStatus `json:"invites"`
}

// Withdrawal ends an open invitation.
type Withdrawal struct {
	ID string `json:"id"`
	By string `json:"by,omitzero"`
}

// JoinRequest takes another hub's invitation.
type JoinRequest struct {
	Token string `json:"token"`
}

// Pending is a hub that waits for a decision here.
type Pending struct {
	Hub       string   `json:"hub"`  // "" if it names none
	Code      string   `json:"code"` // what both sides compare, "" without a hub id
	Pin       string   `json:"pin"`
	Endpoints []string `json:"endpoints"`
	Host      string   `json:"host,omitzero"`      // that it called from last
	Joined    bool     `json:"joined"`             // its invitation was taken here
	Invited   bool     `json:"invited"`            // it called with an invitation of this hub
	InviteID  string   `json:"invite_id,omitzero"` // that one
	Times     uint64   `json:"times"`              // calls since the start of the process
	FirstUS   int64    `json:"first_us,omitzero"`
	LastUS    int64    `json:"last_us,omitzero"`
	ExpiresUS int64    `json:"expires_us"`
	Expired   bool     `json:"expired,omitzero"` // its invitation has ended: it is not called any more, and cannot be approved by its row
	// Of a joined hub, which this one calls while it runs: whether it was accepted there, why the last call was not, what
	// was seen, how many there were, and when the next is due.
	Accepted   bool   `json:"accepted,omitzero"`
	CallReason string `json:"call_reason,omitzero"`
	CallDetail string `json:"call_detail,omitzero"`
	Calls      int    `json:"calls,omitzero"`
	CallNextUS int64  `json:"call_next_us,omitzero"`
}

// Who says why a hub waits.
func (p Pending) Who() string {
	switch {
	case p.Joined && p.Invited:
		return "invited, and joined by us"
	case p.Joined:
		return "joined by us"
	case p.Invited:
		return "invited by us"
	}
	return "stranger"
}

// PendingList is the answer to a list request.
type PendingList struct {
	Pending []Pending `json:"pending"`
}

// Approval makes a hub a peer. Key is its fingerprint or the code that both sides see. Hub and Endpoints are those of the
// pending row where they are not given.
type Approval struct {
	Key       string   `json:"key"`
	Hub       string   `json:"hub,omitzero"`
	Endpoints []string `json:"endpoints,omitzero"`
	MayReach  []string `json:"may_reach"`
	By        string   `json:"by"`
	// Replace changes a peer that is approved already; DryRun changes nothing and shows what the approval would open.
	Replace bool `json:"replace,omitzero"`
	DryRun  bool `json:"dry_run,omitzero"`
}

// Opening is what a peer may address here: the patterns, and the seats known here now that they match.
type Opening struct {
	Patterns []string `json:"patterns"`
	Seats    []string `json:"seats"`
}

// Approved is a peer as it was approved, or would be, and what that opens.
type Approved struct {
	Peer   PeerStatus `json:"peer"`
	Before Opening    `json:"before"`
	After  Opening    `json:"after"`
}

// Rejection turns a pending key away. Key is its fingerprint or code.
type Rejection struct {
	Key    string `json:"key"`
	By     string `json:"by"`
	DryRun bool   `json:"dry_run,omitzero"`
}

// ReconcileRequest lets the lanes with a fenced peer begin anew.
type ReconcileRequest struct {
	Hub    string `json:"hub"`
	By     string `json:"by"`
	DryRun bool   `json:"dry_run,omitzero"`
}

// Revocation ends an approval.
type Revocation struct {
	Hub    string `json:"hub"`
	By     string `json:"by"`
	Why    string `json:"why,omitzero"`
	DryRun bool   `json:"dry_run,omitzero"`
}
