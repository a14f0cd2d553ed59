package socket

import "time"

// Options bound one socket. A zero field means its default.
type Options struct {
	// ReadLimit is the largest message accepted, in bytes; a larger one closes the socket with
	// message_too_large (1009). Default 1 MiB.
	ReadLimit int64
	// QueueCount and QueueBytes bound the items that wait for the writer or are not yet taken by the
	// operating system, the bytes by Item.Size. An item is always taken when nothing waits, however large.
	// Defaults 8192 and 8 MiB: several full turns of the core addressed to one reader must fit, or a burst would
	// close a socket that keeps up.
	QueueCount, QueueBytes int
	// PingEvery is the pause between two pings, PongWait the time for a sign of life after one.
	// Defaults 15 s and 15 s.
	PingEvery, PongWait time.Duration
	// WriteTimeout is the time the peer has to take 64 KiB. Default 10 s.
	WriteTimeout time.Duration
	// CloseWait bounds everything after Close: the queued frames, the close frame and the peer's answer.
	// Default 5 s; the peer's answer alone is never waited for longer than that.
	CloseWait time.Duration
}

func (o Options) withDefaults() Options {
	setDefault(&o.ReadLimit, 1<<20)
	setDefault(&o.QueueCount, 8192)
	setDefault(&o.QueueBytes, 8<<20)
	setDefault(&o.PingEvery, 15*time.Second)
	setDefault(&o.PongWait, 15*time.Second)
	setDefault(&o.WriteTimeout, 10*time.Second)
	setDefault(&o.CloseWait, 5*time.Second)
	return o
}

func setDefault[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
