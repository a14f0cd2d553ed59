// Package faults is a bad network between two programs that speak UDP: a wire with two directions whose packets are lost,
// doubled, delayed and overtaken by a seeded plan, that goes dark and comes back, and that can be cut after an exact number
// of bytes in one direction.
//
// Programs reach the wire through fronts: loopback addresses that stand for a program. What comes to a front from a caller
// goes to the program behind it, in the front's direction; the answers go the other way. Two fronts, one for each program,
// make a wire that either side may dial over:
//
//	A --dials--> [front of B, Forth] --> B        B --dials--> [front of A, Back] --> A
//
// The n-th packet of a direction always meets the same fate under one seed, whatever the clock says. Which packet is the
// n-th, and how long its delay feels, is the machine's business: a seed repeats a run closely and not exactly.
//
// The wire never alters a packet but in one place: the packet in which a cut falls is passed on up to the cut.
package faults
