package relay

import (
	"context"

	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// Core is the hub as the relay needs it. All methods may be called from any goroutine; all positions are synced ones.
type Core interface {
	// Self is this hub's id, LaneEpoch the epoch in which it counts its lane to the peer now.
	Self() wire.HubID
	LaneEpoch(peer wire.HubID) hub.LaneEpoch
	// Reconciling says whether an operator has allowed that the peer begins its lane anew. AdoptLane moves LaneIn to where it
	// does, once; LaneTaken takes what a hello says of our lane, before the link is used. Both return when what they changed
	// is durable.
	Reconciling(peer wire.HubID) bool
	AdoptLane(ctx context.Context, peer wire.HubID, e hub.LaneEpoch) error
	LaneTaken(ctx context.Context, peer wire.HubID, cursor hub.Cursor, theirHead uint64) error
	// Trust is the current snapshot of approved peers.
	Trust() *federation.Trust
	// ProfileAgreed says what both sides take the link to the peer to admit. It returns when the core has it durably, at once
	// when that is what it has.
	ProfileAgreed(ctx context.Context, peer wire.HubID, p federation.Profile) error
	// LinkOpened says that records may leave on a new link, and returns when the core has that durably: none leaves before.
	// LinkClosed says, for every LinkOpened that was called, that the link is over and which record was the last to leave on
	// it. The core tells by them what may have left from what never did.
	LinkOpened(ctx context.Context, peer wire.HubID, info hub.LinkInfo) error
	LinkClosed(peer wire.HubID, sent uint64, reason wire.Reason)
	// LinkBackoff takes when a peer that refused, or was refused, is called next; the zero Backoff ends that. It returns when
	// the core has it durably, at once when that is what it has. Backoff is what it took last, also before a restart.
	LinkBackoff(ctx context.Context, peer wire.HubID, b hub.Backoff) error
	Backoff(peer wire.HubID) hub.Backoff
	// LaneIn is what this hub holds of the peer's lane.
	LaneIn(peer wire.HubID) hub.Cursor
	// LaneRefused lists, ascending, the refused records of the peer's lane above after and up to LaneIn. A refusal whose
	// acknowledgement was lost with a link is told again from here. It needs to reach back only as far as records can be
	// unacknowledged: [WindowRecords].
	LaneRefused(peer wire.HubID, after uint64) []hub.Refusal
	// LaneOut is the state of the lane to the peer.
	LaneOut(peer wire.HubID) hub.LaneOut
	// LaneHash is the rolling hash of the lane to the peer at seq. It knows every seq from LaneOut's Acked to its Head;
	// below it may say ok=false.
	LaneHash(peer wire.HubID, seq uint64) (hash [32]byte, ok bool)
	// Outbox returns the records of the lane to the peer after seq, in order: at most maxCount, and at most maxBytes of
	// bodies, but always one if there is one. Nothing beyond the synced head.
	Outbox(peer wire.HubID, after uint64, maxCount, maxBytes int) ([]hub.OutRecord, error)
	// Inbound hands over consecutive records of the peer's lane as one command. It blocks only while the lane's queue is
	// full; ctx ends with the relay, not with the link. When it returned nil, done is called exactly once, after the sync or with an error, in the order of the
	// calls; done does not block. A new link to a peer waits for all of them; the end of Run does not, so that a core that
	// cannot answer any more does not keep the process.
	Inbound(ctx context.Context, peer wire.HubID, recs []hub.InRecord, done func(hub.InboundResult)) error
	// Acked settles the lane to the peer up to seq. It may be told the same again after a link broke: what lies at or
	// below the settled position is ignored, refusals included.
	Acked(ctx context.Context, peer wire.HubID, seq uint64, refused []hub.Refusal) error
}
