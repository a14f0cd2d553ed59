package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// crowded is a view with n bound sessions, none of which has a socket: what a
// decision costs is measured without anybody being told.
func crowded(tb testing.TB, n int) (*view, []*session) {
	tb.Helper()
	store, err := journal.Open("journal", journal.Options{FS: vfs.NewMem(), HubID: "hub-1"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() })
	v := &view{st: newState("hub-1"), ro: newRoster(), store: store, now: time.Hour.Microseconds(), config: config{
		self: "hub-1", frameBytes: 1 << 20, counting: make(chan struct{}, 1),
	}}
	all := make([]*session, n)
	for i := range all {
		all[i] = &session{}
		name := fmt.Sprintf("project-%d/seat-%05d", i%4, i)
		if i%4 == 3 {
			name = fmt.Sprintf("project-%d/seat-%05d-rx", i%4-1, i-1)
		}
		logical, _ := wire.LogicalIdentity(name)
		arrived{s: all[i]}.change(&v.ro)
		boundName{s: all[i], name: name, logical: logical, now: v.now}.change(&v.ro)
	}
	return v, all
}

// decide runs one decision whose draft is thrown away.
func decide(v *view, c command) *draft {
	d := &draft{}
	d.reset(v.st.head + 1)
	c.decide(v, d)
	return d
}

func chatTo(s *session, target string) *chatCommand {
	c := &chatCommand{from: s, sender: s.name, chat: wire.Chat{Target: target, HasTarget: true, ReceiptRequested: true, Body: []byte("{}")}}
	c.target = wire.CompileTarget(target)
	return c
}

// BenchmarkCrowd is what one decision costs the core with 16,384 agents online.
func BenchmarkCrowd(b *testing.B) {
	v, all := crowded(b, 16384)
	late := &session{}
	for _, c := range []struct {
		name string
		cmd  command
	}{
		{"who", &whoCommand{bySession{s: all[0]}}},
		{"state", &stateCommand{bySession{s: all[0]}}},
		{"chat/one", chatTo(all[0], all[1].name)},
		{"chat/all", chatTo(all[0], "all")},
		{"chat/project", chatTo(all[0], "project-1")},
		{"chat/glob", chatTo(all[0], "project-?/seat-[0-9][0-9][0-9][0-9][0-9]")},
		{"chat/16globs", chatTo(all[0], "p?a,p?b,p?c,p?d,p?e,p?f,p?g,p?h,p?i,p?j,p?k,p?l,p?m,p?n,p?o,p?p")},
		{"connect", &connectCommand{bySession{s: late}}},
		{"bind", &bindCommand{bySession: bySession{s: late}, name: "project-1/late", verdict: make(chan bindVerdict, 1)}},
		{"disconnect", &disconnect{bySession{s: all[0]}}},
		{"tick", tick{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				decide(v, c.cmd)
			}
		})
	}
	b.Run("change", func(b *testing.B) {
		for b.Loop() {
			boundName{s: late, name: "project-1/late", logical: "project-1/late", now: v.now}.change(&v.ro)
			v.ro.unbind(late)
		}
	})
	b.Run("who/frame", func(b *testing.B) {
		for b.Loop() {
			d := decide(v, &whoCommand{bySession{s: all[0]}})
			d.effects[0].item.Frames(func(f []byte) bool { b.SetBytes(int64(len(f))); return true })
		}
	})
}
