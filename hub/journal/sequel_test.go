package journal

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSequel holds a sequel to the store's own point reads, in ascending order and in any: with bodies, without, purged,
// and beyond the head. It does not see what comes after it began.
func TestSequel(t *testing.T) {
	seed := seedOf(t)
	w := newWorld(seed)
	s, err := Open("j", smallOptions(vfs.NewCrashableMem()))
	must(t, err)
	must(t, w.run(s, 300))
	head, _ := s.Head()
	order := make([]uint64, 0, 2*head)
	for seq := range head + 3 {
		order = append(order, seq)
	}
	for _, i := range rand.New(rand.NewPCG(seed, 7)).Perm(int(head)) {
		order = append(order, uint64(i))
	}
	q, err := s.Sequel()
	must(t, err)
	for _, seq := range order {
		want, has, err := s.Event(seq)
		must(t, err)
		got, ok, err := q.Event(seq)
		must(t, err)
		if ok != has || !bytes.Equal(AppendHeader(nil, &got), AppendHeader(nil, &want)) {
			t.Fatalf("event %d: %v %+v, want %v %+v", seq, ok, got, has, want)
		}
		if !ok {
			continue
		}
		body, hasBody, err := s.Body(seq)
		must(t, err)
		if read, ok, err := q.Body(&got); ok != hasBody || err != nil || !bytes.Equal(read, body) {
			t.Fatalf("body %d: %q %v %v, want %q %v", seq, read, ok, err, body, hasBody)
		}
	}
	must(t, w.run(s, 1))
	if _, ok, err := q.Event(head + 1); ok || err != nil {
		t.Errorf("an event after the beginning: %v %v", ok, err)
	}
	must(t, q.Close())
	must(t, s.Close())
	if _, err := s.Sequel(); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}
