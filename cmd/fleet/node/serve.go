package node

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/certs"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
	"fleetrelay/relay"
)

// serving is what a serving node has that an opened one has not. Its owner is Serve.
type serving struct {
	agents net.Listener
	links  net.PacketConn
	admin  net.Listener
	relay  *relay.Relay
	patrol *journal.Patrol
	since  time.Time
}

// Serve listens and runs the node until ctx ends, then says goodbye to agents and peers, closes the node and returns
// nil once everything has ended. ready, which may be nil, is called when all three listeners answer. If the journal
// fails Serve returns the refusal journal_failed and tells nobody anything more. The other errors are refusals from
// before anything listened: already_running, port_in_use, open_hub_not_loopback, invalid_config.
func (n *Node) Serve(ctx context.Context, ready func(Status)) error {
	s, err := n.listen()
	if err != nil {
		return joinClose(err, n.Close())
	}
	s.relay = relay.New(relay.Options{
		Core: n.hub, MaxBody: n.cfg.Limits.FrameBytes, Identity: n.identity, Socket: s.links, Log: n.log, Now: n.o.Now,
		Knocked: n.hub.Knock, Joined: n.hub.Joined, Endpoints: func() []string { return n.announced().Endpoints },
	})
	n.hub.SetForwarder(s.relay)
	s.patrol = journal.NewPatrol(n.store, n.o.Now)
	n.serving.Store(s)
	defer n.serving.Store(nil)
	return n.run(ctx, s, ready)
}

// listen binds the three listeners, or none.
func (n *Node) listen() (*serving, error) {
	if err := n.mayListen(); err != nil {
		return nil, err
	}
	s := &serving{since: n.o.Now()}
	var err error
	if s.agents, err = n.listenAgents(); err != nil {
		return nil, err
	}
	if s.links, err = net.ListenPacket("udp", n.cfg.Links); err != nil {
		return nil, joinClose(n.listenError("links", n.cfg.Links, err), s.agents.Close())
	}
	if s.admin, err = listenAdmin(n.dir); err != nil {
		if r := fileRefusal(n.dir, err); r != nil {
			err = r
		} else {
			err = &Refusal{Reason: wire.ReasonInvalidConfig, Text: "the admin socket cannot be made in " + n.dir, Next: Advice("check who owns the folder"), Err: err}
		}
		return nil, joinClose(err, errors.Join(s.agents.Close(), s.links.Close()))
	}
	return s, nil
}

// mayListen refuses to show an open hub to a network: whoever reaches it could take any name.
func (n *Node) mayListen() error {
	if loopback(n.cfg.Agents) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if s, err := n.hub.Status(ctx); err != nil || s.Secured {
		return err
	}
	return &Refusal{
		Reason: wire.ReasonOpenHubNotLoopback, Text: "without agent tokens the hub takes anybody, so it may listen on loopback only, not on " + n.cfg.Agents,
		Next: Command("agent", "token", "create", "--seat", "PROJECT/SEAT"),
	}
}

func (n *Node) listenAgents() (net.Listener, error) {
	var conf *tls.Config
	if c := n.cfg.AgentsTLS; c.Cert != "" {
		var err error
		if conf, err = certs.AgentServer(c.Cert, c.Key, n.o.Now()); err != nil {
			return nil, &Refusal{Reason: wire.ReasonInvalidConfig, Text: "agents_tls: the certificate cannot be used", Next: Advice("correct agents_tls in " + ConfigFile), Err: err}
		}
	}
	l, err := net.Listen("tcp", n.cfg.Agents)
	if err != nil {
		return nil, n.listenError("agents", n.cfg.Agents, err)
	}
	if conf != nil {
		return tls.NewListener(l, conf), nil
	}
	return l, nil
}

// run starts everything, waits for the end of ctx or of the journal, and stops it in the opposite order.
func (n *Node) run(ctx context.Context, s *serving, ready func(Status)) error {
	quiet := slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)
	agents := &http.Server{Handler: n.hub, ReadHeaderTimeout: readHeader, MaxHeaderBytes: 16 << 10, ErrorLog: quiet}
	admin := &http.Server{Handler: n.adminHandler(), ConnContext: withUser, ReadHeaderTimeout: readHeader, ErrorLog: quiet}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	var started errgroup.Group
	begin := func(what string, run func() error) {
		started.Go(func() error {
			if err := run(); err != nil && !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
				stop(errors.New(what + ": " + err.Error()))
			}
			return nil
		})
	}
	begin("agents", func() error { return agents.Serve(s.agents) })
	unattended := make(chan struct{})
	begin("admin", func() error { defer close(unattended); return n.attend(ctx, s.admin, admin.Serve) })
	unlinked := make(chan struct{})
	begin("links", func() error { defer close(unlinked); return s.relay.Run(ctx) })
	begin("patrol", func() error { s.patrol.Run(ctx); return nil })
	n.log.Info("ready", "hub", n.cfg.Hub, "agents", s.agents.Addr().String(), "links", s.links.LocalAddr().String())
	// An early interrupt must not skip ready: what it keeps is of the start, not of the run.
	if st, err := n.Status(context.WithoutCancel(ctx)); err == nil && ready != nil {
		ready(st)
	}

	var failed error
	select {
	case failed = <-n.fatal:
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			failed = cause
		}
	}
	stop(nil)
	err := n.stop(s, agents, admin, unlinked, unattended)
	_ = started.Wait() // begin's functions report through stop
	if failed == nil {
		select {
		case failed = <-n.fatal: // the last turns failed while stopping
		default:
		}
	}
	if failed != nil {
		return Explain(failed)
	}
	n.log.Info("stopped", "reason", wire.ReasonHubShutdown)
	return err
}

// attend answers the admin socket for as long as the node serves.
func (n *Node) attend(ctx context.Context, l net.Listener, serve func(net.Listener) error) error {
	folder, err := os.Stat(n.dir)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	d := door{
		dir: n.dir, folder: folder,
		removed: func() {
			n.log.Warn("the admin socket was removed, and is made again", "socket", filepath.Join(n.dir, AdminSocket))
		},
		failed: func(err error) { n.log.Error("the admin socket cannot be made again for now", "error", err) },
	}
	return d.keep(ctx, l, serve)
}

// stop ends the listeners first, so that nothing new comes, then the links, which note in the core how far they came and
// need their socket to say goodbye, then the core, which does so to its agents, then the journal.
func (n *Node) stop(s *serving, agents, admin *http.Server, unlinked, unattended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	err := s.agents.Close()
	select {
	case <-unlinked:
	case <-ctx.Done():
	}
	err = errors.Join(err, n.hub.Close(ctx))
	// Hijacked agents are the core's and have ended; watchers end with the core and get their last line.
	err = errors.Join(ignoreClosed(err), agents.Close(), admin.Shutdown(ctx), admin.Close())
	if cerr := s.links.Close(); !errors.Is(cerr, net.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	<-unattended // nobody makes the socket again after this
	if rerr := os.Remove(filepath.Join(n.dir, AdminSocket)); !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return errors.Join(ignoreClosed(err), n.store.Close())
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
