package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/process"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := errors.Join(process.Clean(), goleak.Find()); err != nil {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

const (
	stops = 20
	// heardWithin is how soon after the signal a peer knows. A peer that does not hear the goodbye knows after 2.5 s.
	heardWithin = 500 * time.Millisecond
)

// TestGoodbyeIsHeard stops one of two linked nodes again and again, each in turn, so that both the side that dialled and the
// other one say goodbye. Every time the other one must hear it, and not find out by silence.
func TestGoodbyeIsHeard(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	nodes := linkedPair(ctx, t)
	for i := range stops {
		leaves, stays := nodes[i%2], nodes[1-i%2]
		if err := errors.Join(leaves.Linked(ctx, stays.Hub), stays.Linked(ctx, leaves.Hub)); err != nil {
			t.Fatalf("stop %d: %v", i, err)
		}
		took, err := farewell(ctx, leaves, stays)
		if err != nil {
			t.Fatalf("stop %d of %s: %v", i, leaves.Hub, err)
		}
		if took > heardWithin {
			t.Errorf("stop %d of %s was heard after %v", i, leaves.Hub, took)
		}
		if err := leaves.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func linkedPair(ctx context.Context, t *testing.T) (nodes []*cluster.Node) {
	t.Helper()
	binary, err := process.Binary(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, hub := range []string{"atlas.example", "borea.example"} {
		n, err := cluster.Make(ctx, cluster.Options{Binary: binary, Hub: hub, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(ctx); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Stop(context.WithoutCancel(ctx)) })
		nodes = append(nodes, n)
	}
	if err := cluster.Join(ctx, nodes[0], nodes[1], "*/*"); err != nil {
		t.Fatal(err)
	}
	return nodes
}

// farewell stops a node and says how long after the signal its peer took the link for ended by the goodbye.
func farewell(ctx context.Context, leaves, stays *cluster.Node) (took time.Duration, err error) {
	began := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- leaves.Stop(ctx) }()
	err = process.Poll(ctx, func() error {
		link, err := stays.Link(ctx, leaves.Hub)
		switch {
		case err != nil:
			return process.Stop(err)
		case link.State == "up":
			return fmt.Errorf("%s still has its link to %s", stays.Hub, leaves.Hub)
		case link.Reason != "hub_shutdown" || !link.Remote:
			return process.Stop(fmt.Errorf("%s has no link to %s for %s: %s", stays.Hub, leaves.Hub, link.Reason, link.Detail))
		}
		took = time.UnixMicro(link.SinceUS).Sub(began)
		return nil
	})
	return took, errors.Join(err, <-stopped)
}
