package client

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOutbox checks the outbox against a plain list on random input: what is due stands in the order of adding, nothing
// unresolved is forgotten, and the account is right.
func TestOutbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := outbox{byID: map[string]*entry{}}
		var open []*entry    // the twin: unresolved, in order
		var written []*entry // on this connection
		gen, n := uint64(1), 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				n++
				e := &entry{id: fmt.Sprint(n), frame: make([]byte, n%7)}
				o.add(e)
				open = append(open, e)
			},
			"write": func(t *rapid.T) {
				e := o.due()
				i := slices.IndexFunc(open, func(e *entry) bool { return !slices.Contains(written, e) })
				if i < 0 {
					if e != nil {
						t.Fatal("wrote something twice on a connection")
					}
					return
				}
				if e != open[i] {
					t.Fatal("out of order")
				}
				e.gen = gen
				written = append(written, e)
			},
			"reconnect": func(*rapid.T) { gen++; written = nil; o.rewind() },
			"accept": func(t *rapid.T) {
				if len(written) == 0 {
					return
				}
				e := rapid.SampledFrom(written).Draw(t, "e")
				o.accept(e.id, Accepted{ClientMsgID: e.id})
				at := slices.Index(open, e)
				for i, before := range slices.Clone(open[:max(0, at+1)]) {
					if i < at && !errors.Is(before.err, ErrUnanswered) || i == at && before.err != nil || !before.ended {
						t.Fatal("not resolved as it should be")
					}
				}
				open = open[at+1:]
				written = slices.DeleteFunc(written, func(e *entry) bool { return e.ended })
			},
			"refuse": func(t *rapid.T) {
				if len(open) == 0 {
					return
				}
				e := rapid.SampledFrom(open).Draw(t, "e")
				o.refuse(e.id, ErrNoJournal)
				open = slices.DeleteFunc(open, func(x *entry) bool { return x == e })
				written = slices.DeleteFunc(written, func(x *entry) bool { return x == e })
			},
			"": func(t *rapid.T) {
				bytes := 0
				for _, e := range open {
					bytes += len(e.frame)
					if e.ended || o.byID[e.id] != e {
						t.Fatal("forgot a message")
					}
				}
				if bytes != o.bytes || len(o.byID) != len(open) {
					t.Fatalf("account %d bytes %d, want %d bytes %d", len(o.byID), o.bytes, len(open), bytes)
				}
			},
		})
	})
}

// TestWindow checks the window against a plain list.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWindow[int](rapid.IntRange(1, 5).Draw(t, "size"))
		var last []int
		for _, k := range rapid.SliceOf(rapid.IntRange(0, 8)).Draw(t, "keys") {
			fresh := !slices.Contains(last, k)
			if w.add(k) != fresh {
				t.Fatalf("key %d, remembered %v", k, last)
			}
			if fresh {
				last = append(last, k)
				last = last[max(0, len(last)-w.size):]
			}
			if len(w.seen) != len(last) || len(w.ring) > w.size {
				t.Fatal("unbounded")
			}
		}
	})
}
