// Package wire is the agents' protocol as bytes: the one strict JSON reader and
// writer of the program, the frames of wire version 2, names, addresses and
// patterns, and the closed lists of frame types and reason words.
//
// What it owns:
//
//   - the only import of a JSON codec in the repository. Every decoder of ours
//     goes through [ParseObject], [Unmarshal] or [UnmarshalLax], so that all of
//     them refuse the same things;
//   - types.go (frame types) and reasons.go (reason words): the tables from
//     which documentation is generated and which a lint test reads;
//   - the rules that need no state: text fields, client message ids, truthiness,
//     target matching, may-reach patterns, names, hub ids, lane hashes.
//
// What it promises:
//
//   - Pure: no clock, no randomness, no I/O, no goroutine, nothing mutable and
//     shared except the codec's own buffer pools. All functions may be called
//     from any goroutine.
//   - A value that came in is never encoded again. The members of a chat that are
//     not the hub's own travel as raw bytes in a carried body, and a frame is
//     built around them.
//   - No error holds input: an error names the broken rule and the offset, never a
//     body, a name or a token. Sentences for the peer ([FrameError.Text]) repeat
//     at most a field name or a bounded verb.
//
// What it leaves to its caller: deciding anything (who may send, what is a
// duplicate, which receipt is due), cutting oversized messages before they are
// read whole, and answering a refusal on the right socket.
//
// Times are int64 Unix microseconds here and float seconds with six decimals on
// the wire. Slices named Raw or Object alias the bytes they were parsed from and
// live as long as those stay untouched; everything else is a copy.
package wire
