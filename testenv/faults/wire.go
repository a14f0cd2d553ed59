package faults

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Direction is one of the two of a wire.
type Direction int

// The directions.
const (
	Forth Direction = iota
	Back
)

// Other is the opposite direction.
func (d Direction) Other() Direction { return 1 - d }

func (d Direction) String() string { return [...]string{"forth", "back"}[d] }

// Stats count the packets of one direction since the wire was made. Bytes are UDP payload.
type Stats struct {
	Packets, Bytes      uint64 // as they came in
	Passed, PassedBytes uint64 // handed on, copies included
	Lost, Doubled, Held uint64 // by the plan
	Dark, DarkBytes     uint64 // dropped because the wire was dark, copies included
	Overflow, Failures  uint64 // dropped because too many waited; not taken by the operating system
	Cuts                uint64
}

// Wire is the network. Its methods are safe for concurrent use.
type Wire struct {
	running sync.WaitGroup

	mu     sync.Mutex
	plan   Plan
	dark   bool
	closed bool
	ways   [2]way
	fronts []*front
}

// way is one direction.
type way struct {
	lot   *lot
	queue *queue
	stats Stats
	// through is the last packet that passes although the wire is dark: what came in before a cut is let out.
	through uint64
	left    int64         // bytes until the cut, valid while cut is not nil
	cut     chan struct{} // closed by the cut; nil: none is set
}

// New makes a wire. The caller closes it.
func New(seed uint64, p Plan) *Wire {
	w := &Wire{plan: p}
	for _, d := range []Direction{Forth, Back} {
		q := newQueue()
		w.ways[d].lot, w.ways[d].queue = newLot(seed, d), q
		w.running.Go(func() { q.run(func(it item) { w.pass(d, it) }) })
	}
	return w
}

// Set changes the plan for the packets to come.
func (w *Wire) Set(p Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = p
}

// Darken drops everything from now on, in both directions, what is on its way included.
func (w *Wire) Darken() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dark = true
	for i := range w.ways {
		w.ways[i].through = 0
	}
}

// Mend ends the darkness, whether Darken or a cut began it.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dark = false
}

// CutAfter sets the cut: when n more bytes have come in from d, n ≥ 0, the wire is dark, from the byte after them on. The
// packet in which that falls is handed on up to the cut. What comes in while the wire is dark does not count, so that a cut
// set in the dark counts from the mending. The channel is closed when it happens. A second cut of one direction takes the
// place of the first, whose channel then stays open.
func (w *Wire) CutAfter(d Direction, n int64) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	cut := make(chan struct{})
	w.ways[d].left, w.ways[d].cut = n, cut
	return cut
}

// Stats of one direction.
func (w *Wire) Stats(d Direction) Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ways[d].stats
}

// Front opens an address that stands for the program at target: what comes to it travels in d, what is answered the
// other way.
func (w *Wire) Front(target string, d Direction) (addr string, err error) {
	to, err := net.ResolveUDPAddr("udp", target)
	if err != nil {
		return "", fmt.Errorf("faults: front of %q: %w", target, err)
	}
	socket, err := listen()
	if err != nil {
		return "", fmt.Errorf("faults: front of %q: %w", target, err)
	}
	f := &front{wire: w, target: unmapped(to.AddrPort()), way: d, socket: socket, calls: map[netip.AddrPort]*call{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return "", errors.Join(errors.New("faults: the wire is closed"), socket.Close())
	}
	w.fronts = append(w.fronts, f)
	w.running.Go(f.run)
	return socket.LocalAddr().String(), nil
}

// Close closes every front and returns when nothing of the wire runs any more. It may be called again.
func (w *Wire) Close() error {
	w.mu.Lock()
	w.dark, w.closed = true, true
	fronts := slices.Clone(w.fronts)
	w.fronts = nil
	w.mu.Unlock()
	var errs []error
	for _, f := range fronts {
		errs = append(errs, f.close())
	}
	for i := range w.ways {
		w.ways[i].queue.close()
	}
	w.running.Wait()
	return errors.Join(errs...)
}

// carry takes one packet that came in and hands it, or what is left of it, to put when it is due. It owns the packet.
func (w *Wire) carry(d Direction, packet []byte, put func([]byte) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	way := &w.ways[d]
	way.stats.Packets++
	way.stats.Bytes += uint64(len(packet))
	fate := way.lot.draw(w.plan)
	it := item{place: way.stats.Packets, packet: packet, put: put}
	switch {
	case w.dark:
		way.stats.Dark++
		way.stats.DarkBytes += uint64(len(packet))
		return
	case way.cut != nil && way.left < int64(len(packet)):
		it.packet = packet[:way.left]
		w.cutLocked(way)
		if len(it.packet) == 0 {
			return
		}
	default:
		way.left -= int64(len(packet))
	}
	w.queueLocked(way, fate, it)
}

// cutLocked makes the wire dark.
func (w *Wire) cutLocked(way *way) {
	way.stats.Cuts++
	close(way.cut)
	way.cut = nil
	w.dark = true
	for i := range w.ways {
		w.ways[i].through = 0
	}
	way.through = way.stats.Packets
}

// queueLocked queues the copies of a packet that its fate leaves.
func (w *Wire) queueLocked(way *way, f fate, it item) {
	if f.lost {
		way.stats.Lost++
		return
	}
	var extra time.Duration
	if f.held {
		way.stats.Held++
		extra = w.plan.Late
	}
	now := time.Now()
	if !way.queue.add(now, it, f.wait, extra) {
		way.stats.Overflow++
		return
	}
	if f.doubled && way.queue.add(now, it, f.wait, w.plan.Late) {
		way.stats.Doubled++
	}
}

// pass hands on a packet that is due, unless the wire went dark while it waited.
func (w *Wire) pass(d Direction, it item) {
	w.mu.Lock()
	way := &w.ways[d]
	dark := w.dark && it.place > way.through
	if dark {
		way.stats.Dark++
		way.stats.DarkBytes += uint64(len(it.packet))
	}
	w.mu.Unlock()
	if !dark {
		w.put(d, it.packet, it.put)
	}
}

func (w *Wire) put(d Direction, packet []byte, put func([]byte) error) {
	err := put(packet)
	w.mu.Lock()
	defer w.mu.Unlock()
	stats := &w.ways[d].stats
	if err != nil {
		stats.Failures++ // a datagram that does not leave is a datagram lost
		return
	}
	stats.Passed++
	stats.PassedBytes += uint64(len(packet))
}
