// Package doctor looks for what keeps a node, or its link to one peer, from working, and says of each thing it looks at
// whether it is well, what is wrong, and what helps.
//
// Of the node: its folder and key, certificate, disk, journal, whether it runs, and the links there should be. Of a peer also, for each of
// its endpoints, the name, whether UDP reaches a QUIC server there, and each judgement of the handshake in its order (see
// package certs): pin, hub id, key usage, dates, and whether the other side takes this node. It asks what the node would
// ask, with the node's own key, from a port of its own, and ends before the first application byte, so that neither a
// link that is up nor the other hub is disturbed.
//
// A step that cannot be taken because an earlier one failed is skipped and says so. Nothing is changed; one file is
// written beside the journal to measure the disk, and removed.
package doctor
