package hub

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/hub/journal"
)

// desk is a committer with its two ends in a test's hands.
type desk struct {
	t     *testing.T
	mem   *vfs.MemFS
	store *journal.Store
	in    chan *turn
	out   chan pending
	next  uint64
}

func startDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, mem: vfs.NewCrashableMem(), in: make(chan *turn), out: make(chan pending, 16), next: 1}
	store, err := journal.Open("j", journal.Options{FS: d.mem, HubID: "alder"})
	if err != nil {
		t.Fatal(err)
	}
	d.store = store
	c := &committer{store: store, fail: func(err error) { t.Error(err) }}
	go c.run(d.in, d.out)
	return d
}

// turn puts one turn with these facts in; told says whether it tells anybody.
func (d *desk) turn(told bool, recs ...journal.Record) {
	t := &turn{batch: journal.NewBatch(), applied: make(chan struct{})}
	for _, rec := range recs {
		t.facts = append(t.facts, fact{event: journal.NewEvent(d.next, 1, rec), record: rec})
		d.next++
	}
	if told {
		t.effects = append(t.effects, effect{run: func() {}})
	}
	d.in <- t
}

// ready is what the committer lets go after all that could happen has.
func (d *desk) ready() (turns int) {
	d.t.Helper()
	synctest.Wait()
	for {
		select {
		case p, open := <-d.out:
			if !open {
				return turns
			}
			if err := p.wait(); err != nil {
				d.t.Fatal(err)
			}
			for _, w := range p {
				if w.turn != nil {
					turns++
				}
			}
		default:
			return turns
		}
	}
}

// durable is the last event that a power cut would leave now.
func (d *desk) durable() uint64 {
	d.t.Helper()
	store, err := journal.Open("j", journal.Options{FS: d.mem.CrashClone(vfs.CrashCloneCfg{}), HubID: "alder"})
	if err != nil {
		d.t.Fatal(err)
	}
	defer store.Close()
	seq, _ := store.Head()
	return seq
}

func (d *desk) want(turns int, durable uint64) {
	d.t.Helper()
	if got := d.ready(); got != turns {
		d.t.Fatalf("%d turns may be told, want %d", got, turns)
	}
	if got := d.durable(); got != durable {
		d.t.Fatalf("durable up to %d, want %d", got, durable)
	}
}

func (d *desk) stop() {
	close(d.in)
	d.ready()
	if err := d.store.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// A turn of receipts shares the sync of the next turn; without one it gets its own
// after a moment. Nothing of it is let go before.
func TestReceiptsShareASync(t *testing.T) {
	far, own := journal.VerdictsHeard{Verdicts: []journal.FarVerdict{{About: 1, State: journal.ReceiptDelivered}}}, journal.PeerRevoked{Hub: "birch"}
	house := journal.LaneAcked{Peer: "birch", LaneSeq: 1}
	for name, play := range map[string]func(d *desk){
		"alone": func(d *desk) {
			d.turn(true, far)
			d.want(0, 0)
			time.Sleep(patience)
			d.want(1, 1)
		},
		"with the next message": func(d *desk) {
			d.turn(true, far)
			d.want(0, 0)
			d.turn(true, own)
			d.want(2, 2)
		},
		"housekeeping does not carry it": func(d *desk) {
			d.turn(true, far)
			d.turn(false, house)
			d.want(0, 0)
			time.Sleep(patience)
			d.want(2, 2)
		},
		"a quiet turn does not carry it": func(d *desk) {
			d.turn(true, far)
			d.turn(false)
			d.want(0, 0)
			time.Sleep(patience)
			d.want(2, 1)
		},
		"a turn that tells something carries it": func(d *desk) {
			d.turn(true, far)
			d.turn(true)
			d.want(2, 1)
		},
		"with something urgent it does not wait": func(d *desk) {
			d.turn(true, far, own)
			d.want(1, 2)
		},
		"many do not wait longer": func(d *desk) {
			for range patientTurns {
				d.turn(true, far)
			}
			d.want(patientTurns, patientTurns)
		},
		"the end does not wait": func(d *desk) {
			d.turn(true, far)
			d.want(0, 0)
			close(d.in)
			d.want(1, 1)
			d.in = make(chan *turn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := startDesk(t)
				defer d.stop()
				play(d)
			})
		})
	}
}
