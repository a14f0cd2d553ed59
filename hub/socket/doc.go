// Package socket carries one agent's WebSocket: a reader in the foreground, one writer goroutine
// behind a bounded queue, pings, size limits and an orderly close. It knows nothing of the protocol
// spoken over it except the close codes of hub/wire.
//
// A caller upgrades a request, then runs the socket in the same goroutine:
//
//	if status, text := socket.CheckRequest(r, hosts, origins); status != 0 {
//		http.Error(w, text, status)
//		return
//	}
//	s, err := socket.Upgrade(w, r, socket.Options{})
//	if err != nil {
//		return // the answer has been written
//	}
//	reason := s.Run(ctx, onMessage) // Send and Close may be called from anywhere, also before Run
//
// Promises:
//
//   - Send and Close never block. What waits is bounded by count and by bytes; a socket whose queue is
//     full is closed with slow_reader, and what it had queued is dropped. One slow socket costs others nothing.
//   - Items leave in the order of Send. Each item that Send took gets exactly one call of Written: true
//     after the operating system took its last frame, false otherwise.
//   - Frames that are ready together leave in one system call: they are collected in memory, and only the
//     writer goroutine touches the network, when the queue is empty or 64 KiB are pending. Nothing else,
//     not a pong either, can be held up by a peer that does not read.
//   - A peer that takes no byte of a 64 KiB piece within WriteTimeout, or shows no sign of life within
//     PongWait of a ping, is closed.
//   - When Run returns, everything the socket started has ended and the connection is closed.
//
// The caller must Run every socket it upgraded, also one it wants to refuse: Close then Run sends the
// close frame and waits for the peer's, at most CloseWait.
//
// Owners: the read side belongs to Run's goroutine, the network's write side to the writer goroutine,
// the fields named in Socket under mu to nobody in particular.
package socket
