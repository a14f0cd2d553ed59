// Package crash is the crash run: two real nodes, messages both ways through real clients, receipts asked of most, SIGKILLs at random moments from
// outside, during recovery, and at the journal's own fail-points, recipients that come and go, and at the end the checker as a process of its own, which judges from the applications'
// logs and both journals' exports.
//
// The run ends when everything that was accepted has arrived and every sender knows what became of it, or when nothing more comes; the verdict is the checker's
// alone. The seed decides who is killed, when in the flow of accepted messages, how long a node stays dead, who goes offline,
// and what is sent; the machine's scheduling decides the rest, so a seed repeats a run closely and not exactly.
//
// With a planted fault the same run must fail: a check that never failed is not a check.
package crash
