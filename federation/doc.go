// Package federation decides what may pass between this hub and its peers.
//
// It is pure: no network, disk, clock or key material; a decision depends on
// nothing but its arguments and the snapshot it is asked of. It denies whatever
// it cannot decide, and every denial has a reason from the wire's list.
//
// A [Trust] is one immutable snapshot of all approved peers. The core owns the
// current one, derives the next with [Trust.With] and publishes it; handshakes,
// links and sessions read whichever was current when they asked. Hub ids are
// compared exactly: an id in another letter case, or one that looks like a
// peer's, is nobody's.
package federation
