// Package node wires one Fleet node: identity, journal, core, relay, the three listeners and the admin socket.
// It is what the daemon runs, and what a test starts when it wants a whole node in its own process.
//
//	agents (TCP, WebSocket)      links (UDP, QUIC)        admin (unix socket, 0600)
//	      │                           │                         │
//	 http.Server                 relay.Relay               http.Server
//	      └──────────────► hub.Hub ◄──┴─────────────────────────┘
//	                          │
//	                   journal.Store
//
// A node's folder holds everything it is:
//
//	fleet.yaml      settings (Config)
//	identity/       key (0600) and certificate; the key's pin is what peers approve
//	journal/        every fact, peers and tokens included
//	admin.sock      while it runs
//
// The package promises: start and stop are symmetric, Serve returns only when everything it started has ended;
// nothing listens before the journal is open and checked; an open hub (one without agent tokens) is never bound
// to anything but loopback; and every refusal is a *Refusal with its reason word, a sentence and a next step.
// The same admin operations run on a serving node through its socket and on a stopped one by opening its folder
// (Connect). It leaves to its caller: signals, the terminal, and what exit code a reason means.
package node
