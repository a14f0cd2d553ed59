package hub

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// machine drives a hub through random sessions, chats, acknowledgements,
// takeovers, restarts and power cuts, and keeps what agents were told. Its
// judgement rests on that and on the journal alone.
type machine struct {
	t     *testing.T
	rng   *rand.Rand
	fault string
	fs    *vfs.MemFS
	rig   *rig
	skew  atomic.Int64 // of the hub's clock

	sent   int
	online map[string]*ear
	old    []*ear            // superseded: their sockets end by themselves
	heard  chan struct{}     // a token when a chat was heard
	marks  map[string]uint64 // watermarks seen while all was at rest
	mu     sync.Mutex
	told   map[string]uint64          // chats by client_msg_id, with their seq
	notes  map[string]map[string]bool // notifications by sender and client_msg_id:state
	wrong  []string
}

// ear is one socket that hears all it is told.
type ear struct {
	*agent
	m     *machine
	rest  chan struct{} // one token per state_snapshot
	ended chan struct{}
}

var machineNames = []string{"p/a", "p/b", "p/b-rx", "q/c", "q/d"}

var machineTargets = []string{"p/a", "p/b", "q/c", "q/d", "p", "q/?", "p/a,q/d", "r/role", "nobody", "all", "p/*"}

// runMachine returns what was wrong.
func runMachine(t *testing.T, seed uint64, rounds int, fault string) []string {
	m := &machine{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), fault: fault, fs: vfs.NewCrashableMem(), online: map[string]*ear{},
		heard: make(chan struct{}, 1), marks: map[string]uint64{}, told: map[string]uint64{}, notes: map[string]map[string]bool{},
	}
	m.start()
	for range rounds {
		m.burst()
		m.disturb()
		m.checkMarks()
	}
	m.finish()
	return m.wrong
}

func (m *machine) failf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

func (m *machine) start() {
	m.rig = startRig(m.t, m.fs, func(o *Options) {
		o.Fault = m.fault
		o.Now = func() time.Time { return time.Now().Add(time.Duration(m.skew.Load())) }
	})
	for _, name := range machineNames {
		if m.rng.IntN(3) > 0 {
			m.connect(name)
		}
	}
}

// stop closes the hub once everybody has heard everything on its way.
func (m *machine) stop() {
	m.rest()
	m.rig.stop()
	for _, e := range m.online {
		<-e.ended
	}
	clear(m.online)
}

func (m *machine) connect(name string) {
	if before := m.online[name]; before != nil {
		m.old = append(m.old, before)
	}
	e := &ear{agent: m.rig.dial(name), m: m, rest: make(chan struct{}, 1024), ended: make(chan struct{})}
	m.online[name] = e
	go e.listen()
	roles := []string{"", `,"roles":["r/role"]`, `,"roles":[]`}[m.rng.IntN(3)]
	e.say(fmt.Sprintf(`{"sender":%q,"type":"heartbeat","takeover":true,"mailbox":true,"since_seq":0%s}`, name, roles))
	e.ask() // else a later socket of this name might be bound first
}

// say writes a frame; the socket may be about to end.
func (e *ear) say(text string) { _ = e.ws.Write(context.Background(), 1, []byte(text)) }

func (e *ear) listen() {
	defer close(e.ended)
	for {
		g, err := e.readAny()
		if err != nil {
			return
		}
		e.m.hear(e.name, g)
		if g.str("type") == "state_snapshot" {
			e.rest <- struct{}{}
		}
	}
}

func (m *machine) hear(name string, g got) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := g.str("client_msg_id")
	switch g.str("type") {
	case "chat":
		if seq, again := m.told[id]; again && seq != g.num("seq") {
			m.wrong = append(m.wrong, fmt.Sprintf("%s has the sequences %d and %d", id, seq, g.num("seq")))
		}
		m.told[id] = g.num("seq")
		signal(m.heard)
	case "delivery_receipt":
		if m.notes[name] == nil {
			m.notes[name] = map[string]bool{}
		}
		m.notes[name][g.str("receipt_notification_id")+" "+id] = true
	}
}

// burst sends frames of all agents at once.
func (m *machine) burst() {
	select {
	case <-m.heard:
	default:
	}
	for range 20 {
		names := slices.Sorted(maps.Keys(m.online))
		if len(names) == 0 {
			return
		}
		e := m.online[names[m.rng.IntN(len(names))]]
		switch m.rng.IntN(5) {
		case 0:
			e.say(fmt.Sprintf(`{"sender":%q,"type":"ack","seq":%d,"mailbox_for":"p/b"}`, e.name, m.someSeq()))
		case 1:
			e.say(fmt.Sprintf(`{"sender":%q,"type":"heartbeat","since_seq":%d}`, e.name, m.someSeq()))
		default:
			m.sent++
			e.say(fmt.Sprintf(`{"sender":%q,"type":"chat","target":%q,"client_msg_id":"m%d","receipt_requested":%v}`,
				e.name, machineTargets[m.rng.IntN(len(machineTargets))], m.sent, m.rng.IntN(3) > 0))
		}
	}
}

func (m *machine) someSeq() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	seqs := slices.Sorted(maps.Values(m.told))
	if len(seqs) == 0 {
		return 1
	}
	return seqs[len(seqs)-1-m.rng.IntN(min(len(seqs), 30))]
}

// disturb does something to the hub or a session while frames are in flight.
func (m *machine) disturb() {
	name := machineNames[m.rng.IntN(len(machineNames))]
	m.skew.Add(int64(40 * time.Second)) // agents grow stale, takeovers are allowed again
	kind := m.rng.IntN(6)
	if m.fault != "" {
		kind = 0 // it shows in power cuts
	}
	switch kind {
	case 0:
		m.powerCut()
	case 1:
		m.stop()
		m.start()
	case 2:
		if e := m.online[name]; e != nil {
			m.rest() // so that nothing is on its way to a socket that is cut
			_ = e.ws.CloseNow()
			<-e.ended
			delete(m.online, name)
			m.awaitGone(name)
		}
	default:
		m.connect(name) // a takeover if it is online; its old socket is closed in good order
	}
}

// awaitGone waits until the hub knows that a socket is gone: what it writes
// before is settled by reaching the operating system (core-wire-v2 section 8),
// though nobody hears it.
func (m *machine) awaitGone(name string) {
	for held := true; held; {
		err := m.rig.hub.operate(context.Background(), func(v *view, _ *draft) error {
			held = v.ro.byName(name) != nil
			return nil
		})
		if err != nil {
			m.failf("%v", err)
			return
		}
	}
}

// powerCut goes on from what the disk holds: all that anybody was told before.
func (m *machine) powerCut() {
	through := m.rng.IntN(3) // how much of the burst is
	if m.fault != "" {
		through = 0
	}
	switch through {
	case 0:
		select {
		case <-m.heard:
		case <-time.After(time.Second): // the burst held no chat
		}
	case 1:
		m.ask()
	}
	m.mu.Lock()
	told := maps.Clone(m.told)
	m.mu.Unlock()
	clone := m.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: m.rng.IntN(101), RNG: m.rng})
	m.stop()
	m.mu.Lock()
	m.told = told // the rest never happened
	m.mu.Unlock()
	m.fs = clone
	m.start()
}

// rest waits until every socket has heard everything that was on its way.
func (m *machine) rest() {
	m.ask()
	m.ask()
	for _, e := range m.old {
		<-e.ended
	}
	m.old = nil
}

// ask puts a question to every socket and waits for the answers.
func (m *machine) ask() {
	for _, e := range m.online {
		e.ask()
	}
}

func (e *ear) ask() {
	e.say(fmt.Sprintf(`{"sender":%q,"type":"state_request"}`, e.name))
	select {
	case <-e.rest:
	case <-e.ended:
	}
}

// checkMarks compares the watermarks with those seen before.
func (m *machine) checkMarks() {
	m.rest()
	marks := map[string]uint64{}
	err := m.rig.hub.operate(context.Background(), func(v *view, _ *draft) error {
		for _, name := range machineNames {
			marks[name] = v.watermark(name)
		}
		return nil
	})
	if err != nil {
		m.failf("watermarks: %v", err)
		return
	}
	for name, mark := range marks {
		if mark < m.marks[name] {
			m.failf("the watermark of %s fell from %d to %d", name, m.marks[name], mark)
		}
		m.marks[name] = mark
	}
}

// finish lets every sender fetch what it is owed and reads the journal.
func (m *machine) finish() {
	for _, name := range machineNames {
		m.skew.Add(int64(40 * time.Second))
		m.connect(name)
	}
	m.stop()
	store, err := journal.Open("journal", journal.Options{FS: m.fs, HubID: "hub-1"})
	if err != nil {
		m.t.Fatal(err)
	}
	defer store.Close()
	j := &judge{machine: m, chats: map[uint64]*journal.ChatAccepted{}, states: map[uint64][]journal.ReceiptState{}}
	if err := store.Replay(0, j.event); err != nil {
		m.failf("replay: %v", err)
	}
	j.verdict()
}

// judge reads a whole journal.
type judge struct {
	*machine
	chats  map[uint64]*journal.ChatAccepted
	states map[uint64][]journal.ReceiptState
}

func (j *judge) event(ev journal.Event) error {
	rec, err := ev.Record()
	if err != nil {
		return err
	}
	switch r := rec.(type) {
	case journal.ChatAccepted:
		j.chats[ev.Seq] = &r
	case journal.ReceiptSettled:
		j.states[r.ChatSeq] = append(j.states[r.ChatSeq], r.State)
		id := wire.ReceiptNotificationID(r.ChatSeq, r.State.String()) + " " + r.ClientMsgID
		if !j.notes[r.Sender][id] {
			j.failf("%s was never told %s", r.Sender, id)
		}
	}
	return nil
}

// endings are the ways a receipt may go.
var endings = [][]journal.ReceiptState{
	{journal.ReceiptDelivered},
	{journal.ReceiptPending},
	{journal.ReceiptPending, journal.ReceiptDeferred},
	{journal.ReceiptPending, journal.ReceiptExpired},
}

func (j *judge) verdict() {
	for id, seq := range j.told {
		if c := j.chats[seq]; c == nil || c.ClientMsgID != id {
			j.failf("%s was told with sequence %d and is lost", id, seq)
		}
	}
	for seq, c := range j.chats {
		target := wire.CompileTarget(c.Target)
		if !c.ReceiptRequested || !target.Directed() {
			continue
		}
		if !slices.ContainsFunc(endings, func(e []journal.ReceiptState) bool { return slices.Equal(e, j.states[seq]) }) {
			j.failf("the receipt of %d went through %v", seq, j.states[seq])
		}
	}
	if len(j.chats) == 0 {
		j.failf("nothing happened")
	}
}

// Nothing told is lost, watermarks never fall, receipts end once and are told
// until taken: over random work with takeovers, restarts and power cuts.
func TestMachine(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, wrong := range runMachine(t, seed, 60, "") {
		t.Error(wrong)
	}
}

// The machine notices a hub that tells before its sync.
func TestMachineNoticesEarlyEffects(t *testing.T) {
	for seed := range uint64(40) {
		if len(runMachine(t, seed, 2, faultEarly)) > 0 {
			return
		}
	}
	t.Error("a hub that tells before its sync was never caught")
}
