package node

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 events", 1: "1 event", 2: "2 events"} {
		if got := Count(n, "event"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
