// Package hub is one organisation's hub and its node's core loop: the only
// writer of the node's journal.
//
// # How a message flows
//
//	agent's socket ─┐                         ┌─ effects: frames to sockets
//	agent's socket ─┤ bounded   ┌──────┐ turn │            wake of the relay
//	peer's lane    ─┼─ queues ─▶│ core │──────▶ committer ──▶ releaser
//	operator       ─┤ (fair)    └──────┘      │  chain,        waits for the
//	clock          ─┘           decide, apply │  append        sync, then tells
//
// Producers hand typed commands to the core through the intake, one bounded
// queue each. The core takes a turn: it decides every command over the view
// (hot state, roster, journal) and applies the events at once, so that the next
// decision sees them. The committer encodes the turn and appends it to the
// journal as one batch without waiting; the releaser waits for syncs in order
// and only then publishes the turn and runs its effects. Nothing is ever told
// that a restart could forget.
//
// # What it promises
//
//   - One record cannot stop a node: a decision that panics leaves no trace but
//     the record's bytes in quarantine.
//   - The core never waits for a socket, a disk read that is not warm, a peer or
//     a query. A socket that does not keep up is closed with slow_reader.
//   - A failed sync ends everything: OnFatal is called, no effect of that turn or
//     a later one is released.
//   - Memory holds what is open: sessions, 512 mailbox identities, 1,024 pending
//     receipts, lanes, peers and tokens; of hubs that are no peers 256 that wait
//     with an invite, 64 strangers and 1,024 rejected keys; 512 invites. What is
//     settled is in the journal.
//   - apply is one code live and at replay; recovery is the latest snapshot and
//     the events after it.
//
// # What it leaves to its caller
//
// Listening, TLS, the store's opening and closing, moving records between hubs
// (see Forwarder; relay satisfies it), and ending the process when OnFatal says
// so.
package hub
