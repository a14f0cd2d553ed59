// Package frame is the format of the conversation between two hubs: how frames are cut out of a byte stream, what each
// of them says, and the origin block that travels with every record. docs/link.md describes the same for implementers
// of another hub.
//
// # Framing
//
// A link is one ordered byte stream in each direction. A frame is
//
//	header length   4 bytes, big endian, 2 … 65,536
//	payload length  4 bytes, big endian, 0 … the receiver's ceiling
//	header          one strict JSON object (package wire), with a member "type"
//	payload         raw bytes whose structure the header gives
//
// Both lengths are checked before anything is allocated. Only `records` has a payload.
//
// # Frames
//
// The list is append-only; a type that is retired keeps its line.
//
//	hello    first frame in both directions, once: relay versions, hub, instance, link number, epoch, cursors, offer
//	records  consecutive records of the sender's lane; payload = origin block, body, origin block, body, …
//	ack      everything up to seq is durable at the receiver; which of it was refused, and why
//	bye      the last frame: why the link ends
//	profile  first frame after the hello, once: digest of what the link admits
//	beat     every 400 ms: a sign of life with the sender's clock
//
// # Relay versions
//
// A hello names the versions its sender speaks, and both ends use the highest one that both speak. From then on a frame
// with a type or a member outside that version ends the link with link_protocol; in a hello unknown members are ignored,
// because it is read before a version is agreed on.
//
//	1  2026-11  hello, records, ack, bye, profile, beat; one hop (max_hops 1)
//
// # Duties of the caller
//
// The package parses and appends. It knows no order of frames, no cursor and no window, and it keeps nothing between
// frames. A [Reader] belongs to one goroutine. What a payload holds is never copied: origin blocks and bodies alias it.
package frame
