// Package journal is a node's durable memory: an ordered chain of events, their bodies and the tables
// projected from them, kept in one Pebble store. It is the only importer of Pebble.
//
// What it promises:
//
//   - A [Batch] becomes true as a whole or not at all. Once [Pending.Wait] has returned nil, every later [Open]
//     of the folder contains that batch, or refuses with a reason; it never silently lacks it.
//   - What reopens is a prefix of what was applied, in order, whatever was synced of it.
//   - Events are chained over their headers, so a changed, missing or inserted event is found. Bodies hang on
//     their digests, so one body can be purged and the chain still verifies.
//   - A failed write or sync stops the store for good: every pending and later call answers journal_failed and
//     no further byte is written. Nothing here ends the process; the caller does, before telling any effect.
//   - Corruption is a reason of its own (journal_corrupt) and never "not found".
//
// What it leaves to its caller: one goroutine calls [Store.Apply], one goroutine calls [Pending.Wait] in the
// order of Apply (they may be the same); the caller numbers events densely, computes body digests and projects
// tables. What was applied is readable before it is synced; [Store.Synced] tells how far one may speak of it.
//
// What it does not do: purged bytes are gone for every reader at once, and from the disk when compaction and the reuse
// of a log overwrite them. A power cut and a damaged log tail together may hide up to the last second before the cut
// from the head slot; the peers' cursors are the witness for that.
//
// # Folder
//
//	DIR/FORMAT   plain text: format number, minimum reader, hub id, the sentence to print; written once
//	DIR/HEAD     three checksummed slots of (counter, seq, chain), one page apart; see head.go
//	DIR/store/   Pebble at its newest format major version, our logger and event listener
//	DIR/LOCK     held while a process has the folder open
//
// They are created in the order store, HEAD, FORMAT, each whole and durable before the next: a folder without
// FORMAT was never used, and with it nothing else may be missing.
//
// # Keys (first byte is the table; seq8 is big-endian)
//
//	e seq8               event header (below)
//	b seq8               body
//	c seq8               chain hash after that event; one per batch, at its last event
//	p seq8               seq8 of the tombstone (BodyPurged) that removed that event's body
//	s                    seq8 of the newest SnapshotTaken, the only one whose body is kept
//	m part 00 seq8       mailbox          o peer 00 laneseq8   lane outbox, value begins with seq8
//	n sender 00 seq8     notifications    w identity           watermark, value seq8
//
// # Event header (format byte 1, integers big-endian)
//
//	 0  u8   header format, 1
//	 1  u8   flags: 1 = the event has a body
//	 2  u16  kind
//	 4  u8   event format
//	 5  u64  seq
//	13  i64  time, Unix microseconds
//	21  u32  body length, then 32 bytes SHA-256 of the body   (only with a body)
//	..  u24  length of the attributes, then the attributes (the record's protobuf fields); nothing may follow
//
// Chain: h(0) = SHA-256("fleet journal chain 1" 00 hub id), h(n) = SHA-256(h(n-1) || header(n)).
package journal
