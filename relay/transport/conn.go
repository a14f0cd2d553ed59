package transport

import (
	"io"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// Conn is one authenticated connection to a peer: one ordered byte stream in
// each direction. One goroutine may read while another writes; Close may come
// from any.
type Conn interface {
	io.Reader
	// Write puts bytes into a buffer of [WriteBuffer] and sends when that is
	// full. It blocks while the other side does not read.
	io.Writer
	// Flush sends what is buffered. A writer flushes when it has nothing more
	// ready.
	Flush() error
	// Close ends both directions on both sides and unblocks every call. What
	// was written and not yet taken by the other side may be lost. The first
	// call's reason counts; later calls do nothing.
	Close(reason wire.Reason) error
	// Peer is the hub and the key it proved.
	Peer() (wire.HubID, certs.Pin)
	// RemoteAddr is HOST:PORT as seen from here.
	RemoteAddr() string
}

// WriteBuffer is the size of a Conn's write buffer in bytes.
const WriteBuffer = 64 << 10
