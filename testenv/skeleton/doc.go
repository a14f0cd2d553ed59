// Package skeleton is the bare pipeline: the least a durable hub can do, as the yardstick for the product.
//
//	agent → WebSocket frame → strict JSON scan → one synced batch for all that waits ─┬→ own copy to the sender
//	                                                                                  ├→ the frame to its recipient here
//	                                                                                  └→ mutual TLS over QUIC → scan →
//	                                                              second synced batch → the frame to its recipient there
//
// It has group commit, raw bytes forwarded and cumulative link acknowledgements, and nothing of policy, chain, receipts,
// mailboxes, presence, deduplication, resumption or retention. Each frame to an agent is one system call; with --batched
// what is ready leaves in one, through the product's own socket, which raises the ceiling where many messages are in
// flight. It speaks just enough of the agents' wire
// for the generator of package load: a welcome, a presence_update to whoever registers, and chats with a seq. It uses the
// product's own strict reader and transport, so that what is measured beside it is the product's own weight.
//
// It is no product: a broken link or a full queue ends it.
package skeleton
