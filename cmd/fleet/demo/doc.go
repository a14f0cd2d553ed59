// Package demo shows the product's main job on real processes: two nodes in folders of their own, made and peered
// through the command line, agents on real sockets, messages both ways, a recipient that was away, and SIGKILLs with
// messages in flight.
//
// It does not judge itself. The agents write down what they sent, were told and received (testenv/clientlog), the nodes'
// journals are exported, and the checker decides in a process of its own. The demo only waits for conditions, each with
// a deadline; a condition that does not come true ends the waiting and not the run, so that the checker has the last
// word also when a fault was planted.
package demo
