package journal

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestReopenAndReplay(t *testing.T) {
	fs := vfs.NewCrashableMem()
	for round := range 3 {
		s, err := Open("j", Options{FS: fs, HubID: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		head, _ := s.Head()
		for i := range 5 {
			b := NewBatch()
			seq, _ := s.Head()
			b.Append(NewEvent(seq+1, 1, ChatAccepted{MsgID: uint64(i + 1), Sender: "a"}).WithBody(fmt.Append(nil, "body", seq+1), [32]byte{}))
			b.Append(NewEvent(seq+2, 1, WatermarkRaised{Identity: "a", Seq: 3}))
			b.Put(MailboxKey("a", seq+1), nil)
			p, err := s.Apply(b)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		if err := s.Replay(0, func(ev Event) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		if n != int(head)+10 {
			t.Fatal(n, round, head)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
