package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"fleetrelay/certs"
	"fleetrelay/hub"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// readHeader bounds how long a peer may take for the head of an HTTP request.
const readHeader = 10 * time.Second

// closing bounds the goodbye to agents: 5 s of close handshakes and a little.
const closing = 8 * time.Second

// Options say how a node is opened. Dir is required.
type Options struct {
	Dir       string
	Overrides map[string]any           // settings given as flags, by key
	Environ   []string                 // KEY=VALUE, of which FLEET_* count; nil: none
	Log       *slog.Logger             // nil: says nothing
	LogTo     func(Log) *slog.Logger   // makes the logger once the settings are known; wins over Log
	Now       func() time.Time         // nil: time.Now
	Version   string                   // shown to agents and in status
	Hook      func(point string) error // fail-points; nil: none
	Fault     string                   // a planted fault, to show that the checks find it; "" in use
}

// Node is one opened node. It owns its folder until Close. Methods are safe for concurrent use.
type Node struct {
	dir string
	cfg Config
	o   Options
	log *slog.Logger

	identity *certs.Identity
	store    *journal.Store
	hub      *hub.Hub
	fatal    chan error            // first failure of the journal; capacity 1
	broken   atomic.Pointer[error] // the same, for whoever asks meanwhile

	codes    codes
	watchers atomic.Int64
	serving  atomic.Pointer[serving] // nil unless Serve runs; see serve.go
}

// Open reads the settings and opens identity, journal and core. Nothing listens yet. The errors are *Refusal:
// store_missing, unknown_config_key, invalid_config, wrong_hub, store_locked, journal_rewound and the like.
func Open(o Options) (*Node, error) {
	cfg, strange, err := LoadConfig(o.Dir, o.Environ, o.Overrides)
	if err != nil {
		return nil, err
	}
	if o.LogTo != nil {
		o.Log = o.LogTo(cfg.Log)
	}
	id, err := LoadIdentity(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := checkJournal(o.Dir); err != nil {
		return nil, err
	}
	n, err := open(o, cfg, id)
	if err != nil {
		return nil, alreadyRunning(o.Dir, openError(o.Dir, err))
	}
	for _, name := range strange {
		n.log.Warn("this variable names no setting", "name", name)
	}
	return n, nil
}

func open(o Options, cfg Config, id *certs.Identity) (*Node, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := checkIdentity(o.Dir, cfg.Hub, id, hubVariable(o.Environ)); err != nil {
		return nil, err
	}
	n := &Node{dir: o.Dir, cfg: cfg, o: o, log: o.Log, identity: id, fatal: make(chan error, 1)}
	if err := n.openCore(); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *Node) openCore() error {
	store, err := openStore(n.dir, journal.Options{HubID: n.cfg.Hub, Hook: n.o.Hook, Listener: n.storeEvent})
	if err != nil {
		return err
	}
	n.store = store
	n.hub, err = hub.New(hub.Options{
		Store: store, HubID: wire.HubID(n.cfg.Hub), Now: n.o.Now, Rand: rand.Reader,
		Limits: hub.Limits{
			Sockets: n.cfg.Limits.Sockets, PerHost: n.cfg.Limits.PerHost, Unauthenticated: n.cfg.Limits.Unauthenticated,
			FrameBytes: n.cfg.Limits.FrameBytes,
		},
		AllowedHosts: n.cfg.AllowedHosts, AllowedOrigins: n.cfg.AllowedOrigins, PrivateDirected: n.cfg.PrivateDirected,
		RegistrationTimeout: n.cfg.Limits.RegistrationTimeout, Version: n.o.Version, ConfigEpoch: n.cfg.fingerprint(), Log: n.log, Fault: n.o.Fault,
		OnFatal: n.fail,
	})
	if err != nil {
		return joinClose(err, store.Close())
	}
	return nil
}

// alreadyRunning turns store_locked into the plainer word where a node answers.
func alreadyRunning(dir string, r *Refusal) error {
	if r.Reason != wire.ReasonStoreLocked {
		return r
	}
	if !serves(dir) {
		return &Refusal{
			Reason: wire.ReasonStoreLocked, Text: "another fleet process has the journal in " + dir + " open: a node that starts or stops, or a command",
			Next: Advice("try again in a moment; if it stays so, end that process"),
		}
	}
	return &Refusal{Reason: wire.ReasonAlreadyRunning, Text: "a node runs in " + dir, Next: Command("status")}
}

// JournalDir is where a node's folder keeps its journal.
func JournalDir(dir string) string { return filepath.Join(dir, "journal") }

// fail remembers the first failure of the journal; Serve ends with it.
func (n *Node) fail(err error) {
	n.broken.CompareAndSwap(nil, &err)
	select {
	case n.fatal <- err:
	default:
	}
}

// storeEvent puts what the store reports into the log. A failed store also fails the commit that waits for it, which
// ends the node.
func (n *Node) storeEvent(ev journal.StoreEvent) {
	switch ev.Kind {
	case journal.EventFailed:
		n.log.Error("the store failed", "reason", wire.ReasonJournalFailed, "error", ev.Err)
	case journal.EventCorruption:
		n.log.Error("damaged data found", "reason", wire.ReasonJournalCorrupt, "error", Plain(fmt.Sprint(ev.Err)))
	case journal.EventStallBegin, journal.EventStallEnd, journal.EventLowDisk:
		n.log.Warn("store", "event", ev.Text)
	}
}

// Close ends the core and closes the journal. A serving node is closed by Serve itself.
func (n *Node) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	return errors.Join(n.hub.Close(ctx), n.store.Close())
}

func joinClose(err, closeErr error) error { return errors.Join(err, closeErr) }
