// Package relay carries the records of this hub's lanes to its peers and theirs to this hub.
//
// # What it owns
//
//	Relay            one per node: accepts connections, holds one owner per approved peer
//	  owner          one goroutine per peer: dials, takes accepted connections, decides which one is the link
//	    link         reader (foreground), writer and timers: the pump between one connection and the core
//
// Run returns only when all of them have ended.
//
// # What it promises
//
// The core owns lanes, cursors and what was admitted; the relay keeps nothing that must survive it. Records leave in
// lane order, from the cursor that the peer itself stated in its hello, and only once they are synced here. Records that
// arrive are handed over in lane order, none twice, none missing; they are acknowledged only after the core has said
// that they are durable. A record that cannot be admitted is settled as refused and its lane goes on. All that waits is
// bounded: in flight to a peer and not yet acknowledged to one, [WindowRecords] records or [WindowBytes] bytes.
//
// # What a link admits
//
// Both hellos carry an offer, and both ends work out the lower of the two in every member, the profile. Records leave only
// when both have said the same digest of it and the core has it durably, and only those that it admits.
//
// # Life
//
// A beat leaves every 400 ms on a timer of its own. A link on which nothing was heard for 2.5 s is lost, whatever the
// connection below it believes.
//
// # Before a peer is one
//
// A hub whose invitation was taken here is called until it has approved this one or was decided about here, after 1, 2, 4 …
// 60 s. A peer that was just approved is dialled at once.
//
// # One link per peer
//
// The hub with the smaller id dials at once, the other one after three seconds without a link. Whoever dials says hello
// first; the other side's owner decides, ends the link it had, and only then answers. Therefore no cursor in a hello is
// older than an acknowledgement its sender gave. A hello replaces the link there is when it comes from another instance
// of the peer or has a higher link number than the link's own hello; when both sides dial at once, the hello of the hub
// with the smaller id wins.
//
// # Fencing
//
// Both ends compare both cursors of a hello with what they know. A cursor beyond the lane's head, below what was
// acknowledged, or of another epoch means that one of the journals went back in time (rewound); the same number with
// another hash means that two nodes write one lane (cloned). Such a link is refused, shown with its reason and tried
// again only slowly, until an operator has settled it: then both lanes begin anew, each in an epoch that its owner names in
// the hello and that the other side takes up once.
//
// # Calling again
//
// A peer that does not answer is called every 700 ms for ever, so that an outage of any length costs no more than a second
// after its end. One that refuses, or is refused, is called after 1, 2, 4 … 300 s; the core journals each wait before it
// begins, and a restart takes it up. Links and attempts that were only lost come back after 100 ms, doubling to 5 s.
package relay
