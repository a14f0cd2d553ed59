package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"fleetrelay/hub/wire"
)

// Recorder observes what a client did, for a checker. Its methods are called in order and must not block.
type Recorder interface {
	// OnSent gets each frame before its first byte can reach the hub; a frame that is sent again is observed again.
	// The bytes are only lent. The token is left out. It is called from another goroutine than OnEvent.
	OnSent(frame []byte)
	// OnEvent gets each event right before the application's OnEvent.
	OnEvent(ev Event)
}

// Options configure a client. URL and Name are required; a zero field means its default.
type Options struct {
	// URL of the hub, ws:// or wss://.
	URL string
	// Name to register, Token of a secured hub.
	Name, Token string
	// Roles the name also answers to, Wake its wake capability.
	Roles []string
	Wake  string
	// Takeover evicts the present holder of the name, at every registration.
	Takeover bool
	// Mailbox asks for what was missed, from SinceSeq on, and acknowledges. MailboxFor names whose mailbox, "" its own.
	Mailbox    bool
	MailboxFor string
	// SinceSeq is where an earlier client's Cursor stood, and SinceHub on which hub; on another hub the replay starts at
	// the beginning. SinceHub "" means whatever hub answers.
	SinceSeq uint64
	SinceHub wire.HubID
	// ManualAck leaves acknowledging to Ack.
	ManualAck bool
	// TLS is used for wss://; nil means Go's defaults.
	TLS *tls.Config
	// DialContext makes the network connection; nil means net.Dialer's.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// OnEvent is the application. It may call Send if it does not have to wait for room, Ack and Stop; what it did not finish
	// before calling Stop is not acknowledged. It must not call Close, SendAccepted, Who, State or Drain, which wait for
	// further events.
	OnEvent func(Event)
	// OnRaw, if set, gets each message before it is parsed; true means that it is dealt with: no event, no
	// deduplication, no acknowledgement. The bytes are only lent. For load tests.
	OnRaw func(message []byte) bool
	// Recorder, if set, observes.
	Recorder Recorder

	// Window is how many chats are remembered to suppress repeats. Default 16,384.
	Window int
	// MaxOutstanding and MaxOutstandingBytes bound messages not yet accepted. Defaults 1024 and 8 MiB.
	MaxOutstanding, MaxOutstandingBytes int
	// ReadLimit is the largest message read, in bytes. The default is the largest frame an agent may send and 64 KiB for
	// what the hubs on its way add, so that no accepted message stops its reader.
	ReadLimit int64
	// Heartbeat is the pause between keepalives, each with a ping; PongWait the time for any byte after one. Defaults 20 s, 20 s.
	Heartbeat, PongWait time.Duration
	// DialTimeout bounds one attempt up to the WebSocket handshake, WriteTimeout one write. Defaults 10 s and 10 s.
	DialTimeout, WriteTimeout time.Duration
	// MinBackoff and MaxBackoff bound the pauses between attempts. Defaults 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
}

var errOptions = errors.New("client: URL and Name are required")

func (o Options) withDefaults() (Options, error) {
	if o.URL == "" || o.Name == "" {
		return o, errOptions
	}
	if o.DialContext == nil {
		o.DialContext = (&net.Dialer{}).DialContext
	}
	setDefault(&o.Window, 16384)
	setDefault(&o.MaxOutstanding, 1024)
	setDefault(&o.MaxOutstandingBytes, 8<<20)
	setDefault(&o.ReadLimit, wire.DefaultMaxBytes+64<<10)
	setDefault(&o.Heartbeat, 20*time.Second)
	setDefault(&o.PongWait, 20*time.Second)
	setDefault(&o.DialTimeout, 10*time.Second)
	setDefault(&o.WriteTimeout, 10*time.Second)
	setDefault(&o.MinBackoff, 100*time.Millisecond)
	setDefault(&o.MaxBackoff, 5*time.Second)
	return o, nil
}

func setDefault[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
