// Package federation decides what may pass between this hub and its peers.
//
// It is pure: no network, disk, clock or key material; a decision depends on
// nothing but its arguments and the snapshot it is asked of. It denies whatever
// it cannot decide, and every denial has a reason from the wire's list.
//
// A [Trust] is one immutable snapshot of all approved peers, and of those that
// were revoked or rejected. The core owns the current one, derives the next with
// [Trust.With], [Trust.Revoke] and [Trust.Reject] and publishes it; handshakes,
// links and sessions read whichever was current when they asked. Hub ids are
// compared exactly: an id in another letter case, or one that looks like a
// peer's, is nobody's.
//
// How two hubs come to approve each other: one makes an [Invitation] and hands
// its token over, the other takes it and calls, showing the secret. Either side
// then has a [Pending] row, and both show the same [Code]; an operator on each
// side compares it and approves. Until then no byte of the other is read.
// Callers without an invitation stand in the book of [Strangers], which is
// bounded and forgets.
//
// A [Profile] is what two hubs agree to do over a link: member by member the
// lower of what both offer. It says what is possible; who may do it is trust.
package federation
