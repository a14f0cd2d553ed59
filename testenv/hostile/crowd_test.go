package hostile

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/load"
	"fleetrelay/testenv/process"
)

const (
	// handshakesAtOnce is the most callers whose handshake a node works on at once, and half of them from one host.
	handshakesAtOnce = 32
	// grows bounds in bytes how much a node's memory may grow over any number of strangers: what its collector may leave.
	grows = 24 << 20
	// warmUp are the strangers before the node's memory is looked at first.
	warmUp = 300
)

// TestUnknownDialers lets strangers call a node that has a peer: nobody is answered, the node's memory and handles stay what
// they were, and the link of its peer stays up and can be made again meanwhile.
func TestUnknownDialers(t *testing.T) {
	t.Parallel()
	ctx := within(t, time.Minute+time.Duration(*strangers)*20*time.Millisecond)
	dir := t.TempDir()
	a, b := start(ctx, t, self, dir), start(ctx, t, friend, dir)
	if err := cluster.Join(ctx, a, b, "p/*"); err != nil {
		t.Fatal(err)
	}
	crowd, err := NewCrowd(20)
	if err != nil {
		t.Fatal(err)
	}
	defer crowd.Close()
	if _, err := crowd.Storm(ctx, a.Links, warmUp, 60); err != nil {
		t.Fatal(err)
	}
	pids := []int{a.Proc.PID()}
	before, handles := load.UsageOf(pids), handlesOf(t, a)
	seen, err := crowd.Storm(ctx, a.Links, *strangers/2, 60)
	if err != nil {
		t.Fatal(err)
	}
	// The peer restarts in the middle of the storm.
	stormed := make(chan error, 1)
	go func() {
		more, err := crowd.Storm(ctx, a.Links, *strangers-*strangers/2, 60)
		seen.Refused, seen.Answered, seen.Lost = seen.Refused+more.Refused, seen.Answered+more.Answered, seen.Lost+more.Lost
		stormed <- err
	}()
	if err := b.Proc.Kill(); err != nil {
		t.Error(err)
	}
	if err := b.Start(ctx); err != nil {
		t.Error(err)
	}
	if err := b.Linked(ctx, a.Hub); err != nil {
		t.Errorf("the peer does not get through: %v", err)
	}
	if err := <-stormed; err != nil {
		t.Fatal(err)
	}
	after := load.UsageOf(pids)
	s := status(ctx, t, a)
	t.Logf("%d strangers: %+v; memory %d KiB before, %d KiB after; refused %v", *strangers, seen, before.RSS>>10, after.RSS>>10, s.Refusals)
	if seen.Answered != 0 || seen.Refused < int64(*strangers)*9/10 {
		t.Errorf("of %d strangers: %+v", *strangers, seen)
	}
	if s.Refusals["unknown_peer"] == 0 || s.Refusals["unknown_peer"]+s.Refusals["too_many_unauthenticated"] < uint64(seen.Refused) {
		t.Errorf("counted %v", s.Refusals)
	}
	boundedPending(ctx, t, a)
	if after.RSS > before.RSS+grows {
		t.Errorf("memory grew from %d to %d bytes", before.RSS, after.RSS)
	}
	err = process.Poll(within(t, 10*time.Second), func() error {
		if now := handlesOf(t, a); now > handles {
			return fmt.Errorf("%d open files, %d before", now, handles)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

const (
	// pendingRows and pendingOfHost bound the strangers that an administrator is shown, in all and of one host.
	pendingRows   = 64
	pendingOfHost = 4
)

// boundedPending holds that strangers are kept for an administrator to see, and how many.
func boundedPending(ctx context.Context, t *testing.T, n *cluster.Node) {
	t.Helper()
	out, err := n.Command(ctx, "peer", "pending", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Pending []struct {
			Host string `json:"host"`
		} `json:"pending"`
	}
	if err := wire.UnmarshalLax([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]int{}
	for _, p := range list.Pending {
		hosts[p.Host]++
	}
	t.Logf("%d strangers wait for a decision, of %d hosts", len(list.Pending), len(hosts))
	if len(list.Pending) == 0 || len(list.Pending) > pendingRows {
		t.Errorf("%d strangers wait, want some and at most %d", len(list.Pending), pendingRows)
	}
	for host, rows := range hosts {
		if rows > pendingOfHost {
			t.Errorf("%d strangers of %s wait, want at most %d", rows, host, pendingOfHost)
		}
	}
}

// handlesOf counts the open files of a node.
func handlesOf(t *testing.T, n *cluster.Node) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.Proc.PID()))
	if err != nil {
		t.Skipf("no process file system: %v", err)
	}
	return len(files)
}

// TestHandshakesAtOnce stops many handshakes in the middle: a node has let in no more than its bound, and no more than half
// of them from one host; the others were refused at once, and their places are free again when they are gone.
func TestHandshakesAtOnce(t *testing.T) {
	t.Parallel()
	ctx := within(t, time.Minute)
	n := start(ctx, t, self, t.TempDir())
	for _, c := range []struct {
		hosts  int
		inside int64
	}{{1, handshakesAtOnce / 2}, {20, handshakesAtOnce}} {
		// A first try may meet the handshakes of the try before, whose callers are gone: their places must come back.
		err := process.Poll(ctx, func() error {
			got := stallOnce(ctx, t, n, c.hosts)
			t.Logf("%d hosts: %+v", c.hosts, got)
			switch {
			case got.Took >= patienceOfNode:
				return fmt.Errorf("this machine is too busy: %v", got.Took)
			case got.Inside > c.inside || got.Inside+got.Refused != stalled:
				return process.Stop(fmt.Errorf("%+v of %d, want at most %d inside", got, stalled, c.inside))
			case got.Inside < c.inside*3/4:
				return fmt.Errorf("%+v, want about %d inside", got, c.inside)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d hosts: %v", c.hosts, err)
		}
	}
}

// stalled are the handshakes that are begun at once.
const stalled = 150

// patienceOfNode is less than a node waits for a handshake to go on.
const patienceOfNode = 2 * time.Second

func stallOnce(ctx context.Context, t *testing.T, n *cluster.Node, hosts int) Stalled {
	t.Helper()
	crowd, err := NewCrowd(hosts)
	if err != nil {
		t.Fatal(err)
	}
	defer crowd.Close()
	got, err := crowd.Stall(ctx, n.Links, stalled)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
