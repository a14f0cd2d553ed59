// Package certs owns the node's TLS identity and is the only maker of a
// [tls.Config].
//
// An identity is a P-256 key. It is named by its [Pin], the SHA-256 of the
// public key, and never by a certificate's bytes: serial number, signature and
// dates may change without changing who the node is. The certificate around
// the key is self-signed, names the hub exactly in a URI subject alternative
// name (fleet://hub/ID) and repeats the id as a DNS name for people and tools.
// The URI is the one that is verified: DNS names fold case and hub ids do not.
//
// What the package promises:
//
//   - A link handshake is TLS 1.3, mutual, without tickets, resumption or early
//     data, with ALPN [ALPN]. Dialing and accepting share one verify function:
//     whether the key was turned away, the key's pin, the hub id, the key usage
//     of the role, the dates; in that order, so that an unknown key learns
//     nothing more.
//   - Only the leaf is judged. Further certificates in the chain are neither
//     trusted nor a reason to refuse. The leaf needs no issuer: the handshake
//     proves possession of the pinned key, which vouches for the certificate.
//   - A refusal is an [*Error] with a [Code] of a closed list. The other side
//     gets the TLS alert and nothing else.
//   - A dialer can say by its certificate, made for that [Call], which invitation
//     it has and where it is reached. The refusal tells it, if the key signed it.
//   - [Create] leaves either no identity or a complete one, whatever step it
//     dies at, and never replaces an existing one. A key file readable by
//     anyone but its owner is refused by [Load].
//
// What it leaves to its caller: which pins belong to which hub ([Trust], read
// at every handshake), the clock, and ending links whose trust ended later.
package certs
