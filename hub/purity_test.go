package hub

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// lab is a core without sockets, disk turns or clock, with something of
// everything in its state.
type lab struct {
	core *core
	all  []*session
	asks map[string]func() command // one of each kind, made anew each time
}

func newLab(t *testing.T) *lab {
	v, all := crowded(t, 8)
	l := &lab{core: &core{view: *v, now: func() time.Time { return time.UnixMicro(v.now) }}, all: all}
	for _, s := range all {
		s.hub = &Hub{in: newIntake(), settling: newSource(16)}
	}
	pattern, err := wire.ParsePattern("project-0/*")
	if err != nil {
		t.Fatal(err)
	}
	run := func(c command) { l.core.one(l.turn(), c) }
	run(&operatorCommand{reply: make(chan error, 1), run: func(v *view, d *draft) error {
		d.add(v.now, journal.PeerApproved{Hub: "birch", Pins: [][32]byte{{1}}, MayReach: []string{pattern.String()}})
		return nil
	}})
	run(&operatorCommand{reply: make(chan error, 1), run: func(v *view, d *draft) error {
		d.add(v.now, journal.InviteCreated{ID: "0a1b2c3d", Hash: [32]byte{5}, ExpiresUS: v.now + secondUS})
		return nil
	}})
	run(chatTo(all[0], "nobody/here"))
	run(chatTo(all[0], "project-0/x@birch"))
	l.core.view.flights = nil
	l.asks = l.kinds()
	return l
}

func (l *lab) turn() *turn { return &turn{batch: journal.NewBatch(), applied: make(chan struct{})} }

func (l *lab) kinds() map[string]func() command {
	s, by := l.all[0], bySession{s: l.all[0]}
	batch := func() *inboundBatch { return &inboundBatch{peer: "birch", done: func(InboundResult) {}} }
	origin := Origin{Hub: "birch", LaneSeq: 1, MsgID: 1, Sender: "far/a", Principal: "open", Target: s.name + "@hub-1"}
	return map[string]func() command{
		"connectCommand": func() command { return &connectCommand{bySession{s: &session{}}} },
		"bindCommand": func() command {
			return &bindCommand{
				bySession: bySession{s: &session{}}, name: s.name, isHeartbeat: true, verdict: make(chan bindVerdict, 1),
				hb: wire.Heartbeat{Takeover: true, HasRoles: true, Roles: []string{"r"}, HasSince: true, SinceSeq: 1, Mailbox: true},
			}
		},
		"registrationExpired": func() command { return &registrationExpired{bySession{s: &session{}}} },
		"malformed":           func() command { return &malformed{bySession: by, bound: true, err: wire.UnknownType("x")} },
		"switchName":          func() command { return &switchName{bySession: by, to: "other"} },
		"heartbeat": func() command {
			return &heartbeat{bySession: by, hb: wire.Heartbeat{
				Wake: "passive", HasRoles: true, Roles: []string{"r"}, HasSince: true, SinceSeq: 1, Mailbox: true,
			}}
		},
		"touch":        func() command { return &touch{by} },
		"disconnect":   func() command { return &disconnect{by} },
		"chatCommand":  func() command { return chatTo(s, "project-1,nobody") },
		"ackCommand":   func() command { return &ackCommand{bySession: by, acks: []wire.Ack{{Seq: 2}, {Seq: 2}}} },
		"whoCommand":   func() command { return &whoCommand{by} },
		"stateCommand": func() command { return &stateCommand{by} },
		"notesSettled": func() command { return &notesSettled{s: s} },
		"tick":         func() command { return tick{again: func() {}} },
		"withdrawCommand": func() command {
			return &withdrawCommand{list: []agedChat{{peer: "birch", laneSeq: 1, row: outboxRow{seq: 1}}}, done: func() {}}
		},
		"dueCommand":   func() command { return dueCommand{again: func() {}} },
		"ackedCommand": func() command { return &ackedCommand{peer: "birch", seq: 99, done: make(chan error, 1)} },
		"inboundCommand": func() command {
			return &inboundCommand{batch: batch(), rec: InRecord{Origin: origin, Body: []byte("{}")}, last: true}
		},
		"knockCommand": func() command {
			return &knockCommand{knock: federation.Knock{Hub: "oak", Pin: federation.Pin{9}, Host: "192.0.2.1", Invite: [32]byte{5}}}
		},
		"operatorCommand": func() command {
			return &operatorCommand{reply: make(chan error, 1), run: func(v *view, d *draft) error {
				return federation.CheckNewPeer(v.st.trust, federation.Peer{})
			}}
		},
	}
}

// look prints everything a decision must not touch.
func (l *lab) look() string {
	v, r := &l.core.view, &l.core.view.ro
	var b strings.Builder
	fmt.Fprintf(&b, "%x\n%d %v\n", v.st.encode(), r.sockets, r.names)
	for _, s := range append(slices.Clone(l.all), r.bound...) {
		fmt.Fprintln(&b, s.name, s.tokenID, s.declared(), s.isBound, s.welcomed, s.ended, s.lastFrame.Load(), s.lastReaction.Load(), s.notes, s.asked)
	}
	for _, role := range slices.Sorted(maps.Keys(r.role)) {
		fmt.Fprintln(&b, role, len(r.role[role]))
	}
	fmt.Fprintln(&b, r.seen, len(r.seats), len(r.dead), len(r.takeover), r.presence, len(r.watchers), v.raised, len(v.said), v.current)
	for name, t := range r.takeover {
		fmt.Fprintln(&b, name, *t)
	}
	return b.String()
}

// Every kind of command is in the tests below.
func TestEveryKindIsTested(t *testing.T) {
	l := newLab(t)
	want := slices.Sorted(maps.Keys(l.asks))
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv != nil && fn.Name.Name == "decide" {
				of := fn.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				found = append(found, of.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("kinds of commands %v, tested %v", found, want)
	}
}

// A decision alters nothing but its draft.
func TestDecideIsPure(t *testing.T) {
	for name := range newLab(t).asks {
		l := newLab(t)
		l.all[0].notes = []uint64{7}
		cmd := l.asks[name]()
		before, asked := l.look(), fmt.Sprintf("%+v", cmd)
		decide(&l.core.view, cmd)
		if after := l.look(); after != before {
			t.Errorf("%s: before\n%s\nafter\n%s", name, before, after)
		}
		if after := fmt.Sprintf("%+v", cmd); after != asked {
			t.Errorf("%s altered itself:\n%s\n%s", name, asked, after)
		}
	}
}

// The look above would notice what a decision must not touch.
func TestImpurityIsNoticed(t *testing.T) {
	for i, plant := range []func(*lab){
		func(l *lab) { l.core.view.ro.note("new/name", 1) },
		func(l *lab) { l.core.view.ro.countDead("x", "y", 1) },
		func(l *lab) { l.core.view.st.lane("birch").acked++ },
		func(l *lab) { l.all[0].lastFrame.Add(1) },
		func(l *lab) { l.all[0].ended = true },
		func(l *lab) { l.core.view.ro.declare(l.all[1], &declaration{roles: []string{"z"}}) },
		func(l *lab) { l.core.view.raise("x", 1) },
		func(l *lab) { l.core.view.keep(&saying{peer: "birch"}) },
		func(l *lab) { l.core.view.st.ceremony.invites[0].usedBy[0]++ },
	} {
		l := newLab(t)
		before := l.look()
		if plant(l); l.look() == before {
			t.Errorf("plant %d was not noticed", i)
		}
	}
}

// exploding panics after its decision was drafted.
type exploding struct{ command }

func (e exploding) decide(v *view, d *draft) {
	e.command.decide(v, d)
	panic("planted")
}

// Whatever kind of command panics, wherever it does: its bytes are set aside, who
// waits is answered once, nothing of the draft is left, and the core goes on.
func TestQuarantineOfEveryKind(t *testing.T) {
	for name := range newLab(t).asks {
		l := newLab(t)
		cmd := l.asks[name]()
		head, tn := l.core.view.st.head, l.turn()
		l.core.one(tn, exploding{cmd})
		if len(tn.facts) == 0 || tn.facts[0].record.Kind() != journal.KindRecordQuarantined {
			t.Errorf("%s: facts %v", name, tn.facts)
		}
		if extra := len(tn.facts) - 1; extra > 0 && name != "inboundCommand" {
			t.Errorf("%s: %d facts beside the quarantine", name, extra)
		}
		if l.core.view.st.head != head+uint64(len(tn.facts)) {
			t.Errorf("%s: head %d after %d", name, l.core.view.st.head, head)
		}
		answered(t, name, cmd, tn)
		l.core.one(l.turn(), l.asks["tick"]())
	}
}

// answered checks that whoever waits for a quarantined command hears of it once.
func answered(t *testing.T, name string, cmd command, tn *turn) {
	t.Helper()
	var reply chan error
	switch c := cmd.(type) {
	case *bindCommand:
		if v := <-c.verdict; v.bound || !c.s.ended {
			t.Errorf("%s: verdict %+v", name, v)
		}
		return
	case *operatorCommand:
		reply = c.reply
	case *ackedCommand:
		reply = c.done
	case *inboundCommand:
		if len(c.batch.result.Refused) != 1 || c.batch.result.Err != nil {
			t.Errorf("%s: result %+v", name, c.batch.result)
		}
		return
	default:
		return
	}
	for _, e := range tn.effects {
		e.run()
	}
	if err := <-reply; err == nil || len(reply) > 0 {
		t.Errorf("%s: answered %v", name, err)
	}
}
