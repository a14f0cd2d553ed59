// Package cut is the run in which the link between two real nodes is cut, again and again, at random byte offsets: messages
// both ways through real clients, over a wire that loses, doubles and reorders packets (package faults), and at the end the
// checker as a process of its own, which judges from the applications' logs and both journals' exports.
//
// A cut falls after a number of bytes in one direction, counted from the moment the wire was mended, so that it meets
// handshakes, hellos and batches alike. After a long one both nodes have given the link up; after a short one they may not
// even have noticed. Several pairs of nodes are cut beside each other, because a cut costs waiting and not work.
//
// Applications hand over no more than a bounded number of messages ahead of what has arrived: what crosses the wire after a
// cut is then bounded, and whatever exceeds that bound was sent again without need.
package cut
