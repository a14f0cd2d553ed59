package hub

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// Options configure a hub. Store, HubID, Now and Rand are required.
type Options struct {
	Store *journal.Store
	HubID wire.HubID
	Now   func() time.Time
	Rand  io.Reader // cryptographic randomness, safe for concurrent use
	// Limits: zero fields mean the defaults.
	Limits Limits
	// AllowedHosts are further values of the Host header; AllowedOrigins the
	// browsers' origins. Both are empty by default.
	AllowedHosts, AllowedOrigins []string
	// PrivateDirected nil means: once there has been a peer.
	PrivateDirected *bool
	// RegistrationTimeout is how long a socket may stay without a name, 10 s by
	// default.
	RegistrationTimeout time.Duration
	Version             string // of the program, shown to agents
	ConfigEpoch         string // fingerprint of the settings, may be empty
	Log                 *slog.Logger
	// Fault plants one of Faults, for tests of the checkers only.
	Fault string
	// OnFatal is called once, from a goroutine of the hub, when the journal has
	// failed: nothing of the failing turn or any later one has been or will be
	// told. The process should end.
	OnFatal func(error)
}

// Limits bound what agents may hold and what may wait for peers.
type Limits struct {
	Sockets         int // 16,384
	PerHost         int // 32 per remote host; loopback is exempt
	Unauthenticated int // sockets of a secured hub without a name; = Sockets
	FrameBytes      int // largest message, 1 MiB

	// What may wait for one peer. A chat beyond them is refused with outbox_full.
	PeerRecords int   // records, 1,000,000
	PeerBytes   int64 // of bodies, 1 GiB
	// PeerAge ends a chat that has not left for its hub by then: the sender gets
	// relay_expired. 24 h.
	PeerAge time.Duration
}

func (o Options) withDefaults() Options {
	o.Limits.Sockets = orDefault(o.Limits.Sockets, 16384)
	o.Limits.PerHost = orDefault(o.Limits.PerHost, 32)
	o.Limits.Unauthenticated = orDefault(o.Limits.Unauthenticated, o.Limits.Sockets)
	o.Limits.FrameBytes = orDefault(o.Limits.FrameBytes, 1<<20)
	o.Limits.PeerRecords = orDefault(o.Limits.PeerRecords, 1_000_000)
	o.Limits.PeerBytes = orDefault(o.Limits.PeerBytes, 1<<30)
	o.Limits.PeerAge = orDefault(o.Limits.PeerAge, 24*time.Hour)
	o.RegistrationTimeout = orDefault(o.RegistrationTimeout, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnFatal == nil {
		o.OnFatal = func(error) {}
	}
	return o
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Hub is one organisation's hub: the core loop, its journal and its agents'
// sockets. It accepts connections and never listens.
type Hub struct {
	opts      Options
	in        *intake
	operators *source // commands of operators
	settling  *source // notifications that sockets took
	ticking   *source // the clock
	aging     *source // what it found too old
	knocks    *source // calls of unknown hubs with an invite
	lanesMu   sync.Mutex
	lanes     map[wire.HubID]*source
	gate      *gate
	refusals  *refusals
	callers   *callers
	published *published
	epoch     Epoch
	started   time.Time

	forwarder atomic.Pointer[Forwarder]
	failed    sync.Once
	sockets   context.Context // ends with closing
	closing   <-chan struct{} // no more sockets and watchers
	shut      context.CancelFunc
	stopCore  chan struct{}
	coreDone  chan struct{}  // the core takes nothing more
	done      chan struct{}  // everything told
	wg        sync.WaitGroup // sockets and watchers; enter adds to it
	entering  sync.Mutex     // so that nothing enters once closing is closed
	loops     sync.WaitGroup // clock
	stats     stats
	begun     uint64 // the journal's head at the start
}

// New recovers the state from the store and starts the core. The store stays the
// caller's to close, after Close.
func New(o Options) (*Hub, error) {
	o = o.withDefaults()
	st, err := recoverState(o.Store, o.HubID, newFault(o.Fault))
	if err != nil {
		return nil, fmt.Errorf("hub: recover: %w", err)
	}
	if err := startEpoch(o.Store, st, o.Now().UnixMicro(), o.Rand); err != nil {
		return nil, fmt.Errorf("hub: first event: %w", err)
	}
	if err := closeCut(o.Store, st, o.Now().UnixMicro()); err != nil {
		return nil, fmt.Errorf("hub: links of before: %w", err)
	}
	h := &Hub{
		opts: o, in: newIntake(), operators: newSource(sourceDepth), settling: newSource(1 << 12),
		ticking: newSource(1), aging: newSource(1), knocks: newSource(knockDepth), callers: newCallers(), lanes: map[wire.HubID]*source{}, gate: newGate(o.Limits), refusals: newRefusals(o.Log, o.Now),
		published: newPublished(st), epoch: st.epoch, started: o.Now(), begun: st.head,
		stopCore: make(chan struct{}), coreDone: make(chan struct{}), done: make(chan struct{}),
	}
	h.sockets, h.shut = context.WithCancel(context.Background())
	h.closing = h.sockets.Done()
	h.stats.events.Store(st.head)
	h.start(st)
	return h, nil
}

// start runs the pipeline: core → committer → releaser.
func (h *Hub) start(st *state) {
	// the committer holds one turn and the releaser another
	turns, syncs := make(chan *turn), make(chan pending, turnsWaiting-2)
	c := &core{
		in: h.in, out: turns, now: h.opts.Now, stop: h.stopCore,
		view: view{
			st: st, ro: newRoster(), store: h.opts.Store, published: h.published,
			config: config{
				self: h.opts.HubID, version: h.opts.Version, configEpoch: h.opts.ConfigEpoch,
				privateDirected: h.opts.PrivateDirected, frameBytes: h.opts.Limits.FrameBytes, limits: h.opts.Limits,
				fault: newFault(h.opts.Fault), counting: make(chan struct{}, 1), refusals: h.refusals,
				callers: h.callers,
			},
		},
	}
	rel := &releaser{published: h.published, forwarder: h.getForwarder, fail: h.fatal, stats: &h.stats}
	com := &committer{store: h.opts.Store, fail: h.fatal}
	if h.opts.Fault == faultEarly {
		rel.early = true
		com.early = func(t *turn) { rel.release(t); <-time.After(earlyDelay) }
	}
	go func() { defer close(h.coreDone); c.run() }()
	go com.run(turns, syncs)
	go func() { defer close(h.done); rel.run(syncs) }()
	h.loops.Go(func() { h.clock(h.stopCore) })
}

// fatal reports the journal's failure once.
func (h *Hub) fatal(err error) {
	h.failed.Do(func() {
		h.opts.Log.Error("the journal failed; this node stops", "reason", string(wire.ReasonJournalFailed), "error", err)
		h.opts.OnFatal(err)
	})
}

// SetForwarder gives the hub its relay. It may be called while running.
func (h *Hub) SetForwarder(f Forwarder) { h.forwarder.Store(&f) }

func (h *Hub) getForwarder() Forwarder {
	if f := h.forwarder.Load(); f != nil {
		return *f
	}
	return nil
}

// ServeHTTP upgrades an agent's request to its WebSocket and serves it to its
// end.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, text := socket.CheckRequest(r, h.opts.AllowedHosts, h.opts.AllowedOrigins); status != 0 {
		h.refusals.note(requestReason(r), "request refused", r.RemoteAddr)
		http.Error(w, text, status)
		return
	}
	sock, err := socket.Upgrade(w, r, socket.Options{ReadLimit: int64(h.opts.Limits.FrameBytes)})
	if err != nil {
		return // the answer has been written
	}
	if !h.track() {
		sock.Close(wire.ReasonHubShutdown)
		sock.Run(r.Context(), discard)
		return
	}
	defer h.wg.Done()
	if reason := h.gate.enter(sock.RemoteHost(), h.published.isSecured()); reason != "" {
		h.refusals.note(reason, "connection refused", sock.RemoteHost())
		sock.Close(reason)
		sock.Run(r.Context(), discard)
		return
	}
	h.serve(h.sockets, sock)
}

// requestReason names why an upgrade was refused: an Origin is looked at only when
// there is one.
func requestReason(r *http.Request) wire.Reason {
	if r.Header.Get("Origin") != "" {
		return wire.ReasonOriginNotAllowed
	}
	return wire.ReasonHostNotAllowed
}

func discard([]byte) error { return nil }

// track counts a socket or watcher unless the hub is closing.
func (h *Hub) track() bool {
	h.entering.Lock()
	defer h.entering.Unlock()
	select {
	case <-h.closing:
		return false
	default:
		h.wg.Add(1)
		return true
	}
}

// warm reads an event that a command names, so that the core, which must not wait
// for the disk, finds it in memory. The latest ones the core remembers.
func (h *Hub) warm(seq uint64) {
	head := h.stats.events.Load()
	if seq > head || (seq > h.begun && seq+recentEvents/2 > head) {
		return
	}
	_, _, _ = h.opts.Store.Event(seq) // the core reads it again and judges
}

// warmNames does the same for the watermarks a registration may ask for.
func (h *Hub) warmNames(name string) {
	_, _, _ = h.opts.Store.Get(journal.WatermarkKey(name))
	if logical, sidecar := wire.LogicalIdentity(name); sidecar {
		_, _, _ = h.opts.Store.Get(journal.WatermarkKey(logical))
	}
}

// Close ends the sockets with 1001, settles what was taken in, and stops the
// core. It returns when everything the hub started has ended, or with the
// context's error when that comes first. It may be called twice.
func (h *Hub) Close(ctx context.Context) error {
	h.entering.Lock()
	h.shut()
	h.entering.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.wg.Wait()
		h.in.stop()
		h.stopOnce()
		<-h.done
		h.loops.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Hub) stopOnce() {
	h.lanesMu.Lock()
	defer h.lanesMu.Unlock()
	select {
	case <-h.stopCore:
	default:
		close(h.stopCore)
	}
}

// inventName makes a name for an agent that gives none.
func (h *Hub) inventName() string {
	var b [8]byte
	_, _ = io.ReadFull(h.opts.Rand, b[:]) // on failure the name collides and is refused like any other
	return fmt.Sprintf("anon-%d", binary.BigEndian.Uint64(b[:])>>1)
}

// Self is this hub's id.
func (h *Hub) Self() wire.HubID { return h.opts.HubID }

// Trust is the snapshot of approved peers as of the last synced turn.
func (h *Hub) Trust() *federation.Trust {
	h.published.mu.RLock()
	defer h.published.mu.RUnlock()
	return h.published.trust
}
