package skeleton

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/certs"
	"fleetrelay/hub/journal/bare"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// settings are the flags of one hop.
type settings struct {
	dir, hub, agents      string
	batched               bool
	links                 string // UDP address, "" without a link
	peer, peerAt, peerPin string // peerAt "" waits to be dialled
}

// Main is one hop of the pipeline as a process. Without --links it is the one-hop pipeline; with it, the identity must lie in
// the folder (certs.Create). It says "ready" on stdout when agents may connect and, with a link, the link is up. It returns the
// exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("skeleton", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.dir, "dir", "", "folder")
	flags.StringVar(&s.hub, "hub", "bare.example", "hub id")
	flags.StringVar(&s.agents, "agents", "127.0.0.1:0", "TCP address for agents")
	flags.BoolVar(&s.batched, "batched", false, "send what is ready for an agent in one system call")
	flags.StringVar(&s.links, "links", "", "UDP address of the link")
	flags.StringVar(&s.peer, "peer", "", "the other hop's hub id")
	flags.StringVar(&s.peerAt, "peer-at", "", "the other hop's address, to dial it")
	flags.StringVar(&s.peerPin, "peer-pin", "", "the other hop's key")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || s.dir == "" {
		return 2
	}
	if err := s.run(ctx, stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func (s *settings) run(ctx context.Context, stdout io.Writer) error {
	log, err := bare.Open(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	h := &hub{id: s.hub, batched: s.batched, log: log, in: make(chan record, queued), agents: map[string]*agent{}}
	g, ctx := errgroup.WithContext(ctx)
	if s.links != "" {
		h.out, h.acks = make(chan outgoing, queued), make(chan uint64, queued)
		conn, closeAll, err := s.connect(ctx)
		if err != nil {
			return err
		}
		g.Go(func() error { defer closeAll(); return h.link(ctx, conn) })
	}
	listener, err := net.Listen("tcp", s.agents)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	g.Go(func() error { return server.Serve(listener) })
	g.Go(h.commit)
	g.Go(func() error { <-ctx.Done(); return server.Close() })
	fmt.Fprintf(stdout, "ready agents=%s\n", listener.Addr())
	<-ctx.Done()
	// The process ends here: agents' goroutines may still hand records to the committer, which nobody waits for.
	return context.Cause(ctx)
}

// trust knows one other hub.
type trust struct {
	hub string
	pin certs.Pin
}

func (t trust) PinsOf(hub string) ([][32]byte, bool) { return [][32]byte{t.pin}, hub == t.hub }
func (t trust) HubOf(pin [32]byte) (string, bool)    { return t.hub, pin == t.pin }
func (t trust) Blocked([32]byte) string              { return "" }

// connect makes the one connection of the link.
func (s *settings) connect(ctx context.Context) (transport.Conn, func(), error) {
	id, err := certs.Load(s.dir)
	if err != nil {
		return nil, nil, err
	}
	pin, err := certs.ParsePin(s.peerPin)
	if err != nil {
		return nil, nil, err
	}
	udp, err := net.ListenPacket("udp", s.links)
	if err != nil {
		return nil, nil, err
	}
	quic, err := transport.NewQUIC(transport.Options{
		Identity: id, Socket: udp, Trust: func() certs.Trust { return trust{s.peer, pin} },
	})
	if err != nil {
		return nil, nil, errors.Join(err, udp.Close())
	}
	closeAll := func() { quic.Close(); udp.Close() }
	conn, err := s.meet(ctx, quic)
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return conn, closeAll, nil
}

// meet dials, as often as it takes while the other hop starts, or accepts. Whoever dials writes first: an acknowledgement of
// nothing.
func (s *settings) meet(ctx context.Context, quic *transport.QUIC) (transport.Conn, error) {
	if s.peerAt == "" {
		return quic.Accept(ctx)
	}
	for {
		conn, err := quic.Dial(ctx, transport.Target{Endpoints: []string{s.peerAt}, Hub: wire.HubID(s.peer)})
		if err == nil {
			err = writeFrame(conn, kindAck, 0, nil)
			if err == nil {
				err = conn.Flush()
			}
			return conn, err
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
}
