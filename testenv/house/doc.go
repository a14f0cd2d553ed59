// Package house checks the rules of this repository that no compiler knows: which package may import which,
// where a JSON codec, Pebble and tls.Config may be named, that decoders are fuzzed, which words may stand on a wire, in a log or in a
// command's answer, and what may lie at the top of the tree.
//
// Every rule is data with its reason beside it, every checker takes the root of a tree, and the tests show
// each checker a tree in which its rule is broken before they trust it with this one. Nothing here is
// imported by the product.
package house
