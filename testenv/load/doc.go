// Package load measures the product beside the bare pipeline (package skeleton): the same generator drives both, in turn,
// in one run, since only ratios within one run mean anything.
//
// The generator is one process with its own lean WebSocket client: senders, each with a window of messages in flight, and one
// reader that acknowledges every message. A place in a sender's window is free again only when the hub has answered with the
// sender's own copy and the reader has the message; the time from sending to that moment is the latency. Where receipts are
// asked for, a message counts only once its sender was told that it is delivered, and one that is missing at the end fails the
// measurement; the pipeline has none, and is not asked.
//
// What the subjects' processes used comes from /proc: CPU time, bytes written to disk, resident memory. On a system
// without it those figures are zero.
package load
