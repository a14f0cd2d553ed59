package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// conversation is a small exchange in both directions with a refusal in it, over a link whose first connection is cut
// after so many bytes of one direction. It returns what is wrong afterwards and how many bytes the directions carried.
func conversation(t *testing.T, fromDialler bool, cutAt int, around func(*store) Core) (faults []string, to, from int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		var first *memConn
		n.made = func(nth int, c *memConn) error {
			switch {
			case nth > 1:
			case fromDialler:
				first, c.out.cutAt = c, cutAt
			default:
				first, c.in.cutAt = c, cutAt
			}
			return nil
		}
		a, b := newStore(alpha, beta), newStore(beta, alpha)
		a.page, b.page = 2, 1
		refuse := func(rec *hub.InRecord) wire.Reason {
			if rec.Origin.LaneSeq == 2 {
				return wire.ReasonNotPermitted
			}
			return ""
		}
		a.policy, b.policy = refuse, refuse
		p := &pair{n, start(t, n, a, around(a)), start(t, n, b, around(b))}
		defer p.stop()
		p.a.send(beta, 4)
		p.b.send(alpha, 3)
		await(20*time.Second, p.settled)
		faults = p.faults()
		to, from = first.out.total, first.in.total
	})
	return faults, to, from
}

func plain(s *store) Core { return s }

// Wherever the stream is cut, in either direction, nothing is lost, doubled, reordered, or left untold.
func TestCutAtEveryByte(t *testing.T) {
	faults, to, from := conversation(t, true, -1, plain)
	if len(faults) > 0 || to < 1000 || from < 1000 {
		t.Fatalf("uncut: %d and %d bytes, %v", to, from, faults)
	}
	for _, d := range []struct {
		fromDialler bool
		bytes       int
	}{{true, to}, {false, from}} {
		for at := range d.bytes {
			if faults, _, _ := conversation(t, d.fromDialler, at, plain); len(faults) > 0 {
				t.Fatalf("cut at byte %d of %d (of the dialling side: %v): %v", at, d.bytes, d.fromDialler, faults)
			}
		}
	}
}
