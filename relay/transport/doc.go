// Package transport carries one authenticated byte stream to a peer hub and
// back. It knows certificates, pins and packets, and nothing of what it carries.
//
// What it promises:
//
//   - A [Conn] exists only after the other side's key was checked against the
//     current trust; its [Conn.Peer] is proven. The dialer may hold one for a
//     moment before the acceptor's verdict on the dialer's own certificate
//     arrives, which then fails the first Read or Flush.
//   - Every failure is an [*Error] with a reason of the wire's list. A refused
//     certificate is final for the attempt: whoever dials tries no other path.
//   - A dial with several endpoints is not held up by one that swallows packets:
//     the next is dialled beside it after a quarter of a second.
//   - A [QUIC.Knock] sends no byte of a link and tells what the other side
//     decided; whoever calls and is not known is told of by [Options.Knocked].
//   - [Conn.Close] unblocks every Read, Write and Flush on both sides, carries
//     its reason across as a number of a fixed table, and may be called again.
//   - What unknown callers can cost is bounded before anything is allocated for
//     them: [Options.Handshakes] at once, half of that from one host (an IPv6 /64), and from
//     a quarter on a caller must first prove its address. Refusals are logged
//     once per cause and host a minute, with the number of those left out.
//
// The acceptor learns of the stream by its first bytes: whoever dials writes
// first. All paths, QUIC and the one in memory, pass the suite in transporttest.
package transport
