// Package hostile is what stands at the other end of a link and should not: callers and listeners with wrong certificates,
// and crowds of strangers. It speaks QUIC and TLS by itself and shares no code with the product's transport, so that a fault
// there does not blind it. It reports what it saw and owns no verdict.
package hostile
