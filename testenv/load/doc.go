// Package load measures the product beside the bare pipeline (package skeleton): the same generator drives both, in turn,
// in one run, since only ratios within one run mean anything.
//
// The generator is one process with its own lean WebSocket client: senders, each with a window of messages in flight, and one
// reader that acknowledges every message. A place in a sender's window is free again only when the hub has answered with the
// sender's own copy and the reader has the message, and, where receipts are asked for, when the sender was told that it is
// delivered; the pipeline has none, and is not asked. The time from sending to that moment is the latency.
//
// What the subjects' processes used comes from /proc: CPU time, bytes written to disk, resident memory. On a system
// without it those figures are zero.
package load
