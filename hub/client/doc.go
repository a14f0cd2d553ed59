// Package client speaks the agent wire, version 2, to a hub: it registers a name, sends chats until they are accepted,
// receives, deduplicates and acknowledges, and reconnects.
//
//	c, err := client.Dial(ctx, client.Options{URL: "ws://localhost:8876", Name: "proj/seat", Mailbox: true, OnEvent: handle})
//	…
//	accepted, err := c.SendAccepted(ctx, client.Message{To: "proj/other", Text: "hello"})
//	…
//	defer c.Close()
//
// Promises:
//
//   - Accepted means that the hub sent our own copy with its sequence number, or a receipt. What is not accepted when
//     a connection ends is sent again on the next one with the same client_msg_id, in the order of Send and before anything
//     newer, so that the order of one sender holds. The hub does not suppress repeats; receivers do.
//   - A message whose successor on the same connection was accepted while it was neither accepted nor refused has been
//     dropped by the hub; it ends with ErrUnanswered and is not sent again, which would be out of order.
//   - A chat is told once: repeats by (hub id, seq) or by (sender, client_msg_id) are suppressed within the last
//     Window chats (default 16,384 of each key). A repeat from farther back, or after a restart of the program, is
//     told again. A known number with another sender or client_msg_id is a new chat: the hub's journal was put back.
//   - A directed chat that reached us is acknowledged, and the cursor moved past it, after OnEvent returned. The last
//     4,096 acknowledgements are repeated on a new connection, since the hub does not confirm them.
//   - OnEvent is called from one goroutine, in the order of the wire. While it runs nothing is read, so a slow
//     application slows its hub's queue and is in the end closed as a slow reader; its mailbox makes up for it.
//   - What waits is bounded: MaxOutstanding messages and MaxOutstandingBytes; Send blocks beyond.
//   - The client yields, that is, ends for good, when another session owns the name now (superseded, takeover cooldown
//     or quarantine, name owned) or when a repeat cannot help (auth denied, reserved identity, an identity refusal).
//     After any other end it reconnects with exponential pauses.
//
// The cursor is the highest sequence number taken, as the next since_seq. This relies on a hub that replays a mailbox
// before it sends what is newer, as ours does. The caller may keep Cursor and give it back in Options.
//
// It owns no durable state: what is outstanding when the program ends is the caller's to send again, with the same
// ClientMsgID.
package client
