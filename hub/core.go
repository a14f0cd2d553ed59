package hub

import (
	"fmt"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// A turn ends at whichever of these comes first (design section 3).
const (
	turnCommands = 512
	turnBytes    = 1 << 20
	turnTime     = 5 * time.Millisecond
	turnsWaiting = 4 // turns decided and not yet synced, wherever they are
)

// snapshotEvery is the number of events between two snapshots of the hot state:
// the most a start has to replay.
const snapshotEvery = 1 << 15

// turn is one unit of the core: what its decisions want journalled together and
// told together.
type turn struct {
	batch   *journal.Batch
	facts   []fact
	class   class // of the facts, set by the committer
	effects []effect
	lanes   []laneUpdate      // what links may see after the sync
	trust   *federation.Trust // the new trust snapshot, if it changed
	// pending are the hubs that wait for a decision, if ceremony says that they
	// changed.
	pending  []federation.Pending
	ceremony bool
	secured  bool   // agents need a token
	head     uint64 // last sequence of this turn, or of the one before
	applied  chan struct{}
}

// core is the single writer of a node. Everything in it belongs to run's
// goroutine, except the intake.
type core struct {
	in    *intake
	view  view
	out   chan<- *turn
	now   func() time.Time
	stop  <-chan struct{}
	draft draft
	taken []command

	facts, effects int // of the turn before: the next one is often as large
}

// run takes turns until stop is closed and nothing waits. It closes out before
// it returns.
func (c *core) run() {
	defer close(c.out)
	for c.await() {
		if t := c.turn(); t != nil {
			c.out <- t
		}
	}
}

// await blocks until a command waits; false means the core is done.
func (c *core) await() bool {
	for {
		if len(c.taken) > 0 {
			return true
		}
		if c.taken = c.in.take(c.taken, turnCommands, turnBytes); len(c.taken) > 0 {
			return true
		}
		select {
		case <-c.in.wake:
		case <-c.stop:
			c.taken = c.in.take(c.taken, turnCommands, turnBytes)
			return len(c.taken) > 0
		}
	}
}

// turn decides what has been taken, for at most turnTime; the rest stays for the
// next turn.
func (c *core) turn() *turn {
	begun := c.now()
	c.view.begin(begun.UnixMicro())
	t := &turn{batch: journal.NewBatch(), applied: make(chan struct{})}
	if c.facts > 0 {
		t.facts, t.effects = make([]fact, 0, c.facts), make([]effect, 0, c.effects)
	}
	done := 0
	for done < len(c.taken) {
		c.one(t, c.taken[done])
		done++
		if done%16 == 0 && c.now().Sub(begun) > turnTime {
			break
		}
	}
	rest := copy(c.taken, c.taken[done:])
	clear(c.taken[rest:])
	c.taken = c.taken[:rest]
	c.settleVerdicts(t)
	c.settleWatermarks(t)
	c.snapshot(t)
	return c.seal(t)
}

// seal hands the turn's unsynced facts to the view.
func (c *core) seal(t *turn) *turn {
	c.view.endTurn(t)
	c.facts, c.effects = len(t.facts), len(t.effects)
	if len(t.facts) == 0 && len(t.effects) == 0 {
		return nil
	}
	t.head, t.secured = c.view.st.head, c.view.secured()
	return t
}

// one decides one command and applies what it wants.
func (c *core) one(t *turn, cmd command) {
	if cmd.moot() {
		return
	}
	c.draft.reset(c.view.st.head + 1)
	if cause := c.try(cmd); cause != "" {
		c.draft.reset(c.view.st.head + 1)
		c.quarantine(cmd, cause)
	}
	c.accept(t)
}

// try runs decide under recover and returns the panic's text.
func (c *core) try(cmd command) (cause string) {
	defer func() {
		if p := recover(); p != nil {
			cause = fmt.Sprint(p)
		}
	}()
	cmd.decide(&c.view, &c.draft)
	return ""
}

// quarantine keeps the bytes of a command that could not be decided; its source
// goes on.
func (c *core) quarantine(cmd command, cause string) {
	ev := cmd.evidence()
	c.draft.addBody(c.view.now, journal.RecordQuarantined{
		Source: ev.source, Command: ev.command, Reason: string(wire.ReasonQuarantined), Detail: cause,
	}, ev.raw, digestOf(ev.raw))
	cmd.quarantined(&c.view, &c.draft)
}

// accept folds the draft into the turn: facts are applied to the state at once,
// so that the next decision sees them.
func (c *core) accept(t *turn) {
	for _, f := range c.draft.events {
		c.fold(t, f)
	}
	for _, r := range c.draft.raises {
		c.view.raise(r.name, r.watermark)
	}
	for i := range c.draft.said {
		c.view.keep(&c.draft.said[i])
	}
	for _, ch := range c.draft.changes {
		ch.change(&c.view.ro)
	}
	t.effects = append(t.effects, c.draft.effects...)
}

func (c *core) fold(t *turn, f fact) {
	touched := c.view.st.apply(&f.event, f.record, t.batch)
	if touched.lane != nil {
		u := laneUpdateOf(touched.lane)
		u.record, u.ended = touched.out, touched.ended
		t.lanes = append(t.lanes, u)
	}
	if touched.trust {
		t.trust = c.view.st.trust
	}
	if touched.pending {
		t.pending, t.ceremony = c.view.st.ceremony.pending, true
	}
	t.facts = append(t.facts, f)
	c.view.remember(&t.facts[len(t.facts)-1])
}

// settleVerdicts makes what the turn says of chats of other hubs records of the lanes
// to them: as few as their bounds allow.
func (c *core) settleVerdicts(t *turn) {
	for _, peer := range sortedKeys(c.view.said) {
		list := c.view.said[peer].inOrder()
		for len(list) > 0 {
			l := c.view.st.laneOf(peer)
			n := l.together(list)
			c.draft.reset(c.view.st.head + 1)
			c.draft.add(c.view.now, journal.VerdictsSaid{Dest: string(peer), LaneSeq: l.outHead + 1, Verdicts: list[:n:n]})
			c.accept(t)
			list = list[n:]
		}
	}
}

// settleWatermarks writes one event for each identity whose watermark rose.
func (c *core) settleWatermarks(t *turn) {
	c.draft.reset(c.view.st.head + 1)
	for _, name := range sortedKeys(c.view.raised) {
		c.draft.add(c.view.now,
			journal.WatermarkRaised{Identity: name, Seq: c.view.raised[name]})
	}
	c.accept(t)
}

// snapshot journals the hot state every snapshotEvery events.
func (c *core) snapshot(t *turn) {
	if c.view.st.head < c.view.st.snapshot+snapshotEvery {
		return
	}
	c.draft.reset(c.view.st.head + 1)
	state := c.view.st.encode()
	c.draft.addBody(c.view.now,
		journal.SnapshotTaken{UpTo: c.view.st.head}, state, digestOf(state))
	c.accept(t)
}
