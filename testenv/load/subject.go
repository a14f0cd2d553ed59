package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fleetrelay/certs"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/process"
)

// Subject is something that can be loaded. Start is called with an empty folder; Stop ends what Start began and may be called
// after a failed Start.
type Subject interface {
	Name() string
	Start(ctx context.Context, dir string) (Target, error)
	PIDs() []int
	Stop(ctx context.Context) error
}

// Product is the product itself: one node, or two with a link between them.
type Product struct {
	Binary string
	Hops   int // 1 or 2
	Env    []string
	nodes  []*cluster.Node
}

// Name says what is measured.
func (p *Product) Name() string { return "product" }

// Start makes the nodes. Directed messages go to their recipients only, as between peers, so that one hop and two carry
// the same frames.
func (p *Product) Start(ctx context.Context, dir string) (Target, error) {
	p.nodes = nil
	for i := range p.Hops {
		n, err := cluster.Make(ctx, cluster.Options{
			Binary: p.Binary, Hub: hubName(i), Dir: dir, Env: append([]string{"FLEET_PRIVATE_DIRECTED=true"}, p.Env...),
		})
		if err != nil {
			return Target{}, err
		}
		p.nodes = append(p.nodes, n)
		if err := n.Start(ctx); err != nil {
			return Target{}, err
		}
	}
	if p.Hops == 1 {
		return Target{Senders: p.nodes[0].Agents, Reader: p.nodes[0].Agents, To: ReaderSeat, Receipts: true}, nil
	}
	if err := cluster.Join(ctx, p.nodes[0], p.nodes[1], "bench/*"); err != nil {
		return Target{}, err
	}
	return Target{Senders: p.nodes[0].Agents, Reader: p.nodes[1].Agents, To: ReaderSeat + "@" + p.nodes[1].Hub, Receipts: true}, nil
}

func hubName(i int) string { return []string{"atlas.example", "borea.example"}[i] }

// PIDs are the nodes' processes.
func (p *Product) PIDs() (pids []int) {
	for _, n := range p.nodes {
		pids = append(pids, n.Proc.PID())
	}
	return pids
}

// Stop ends the nodes.
func (p *Product) Stop(ctx context.Context) error {
	var errs []error
	for _, n := range p.nodes {
		errs = append(errs, n.Stop(ctx))
	}
	return errors.Join(errs...)
}

// Skeleton is the bare pipeline with as many hops.
type Skeleton struct {
	Command []string // binary and leading arguments; skeleton.Main's follow
	Env     []string
	Hops    int
	Batched bool // what is ready for an agent leaves in one system call
	procs   []*process.Process
}

// Name says what is measured.
func (s *Skeleton) Name() string {
	if s.Batched {
		return "skeleton, batched"
	}
	return "skeleton"
}

// Start starts the hops; with two, each knows the other's key.
func (s *Skeleton) Start(ctx context.Context, dir string) (Target, error) {
	s.procs = nil
	args := [][]string{nil}
	if s.Hops == 2 {
		var err error
		if args, err = linkArgs(dir); err != nil {
			return Target{}, err
		}
	}
	at, err := s.launch(ctx, dir, args)
	if err != nil {
		return Target{}, err
	}
	if s.Hops == 1 {
		return Target{Senders: at[0], Reader: at[0], To: ReaderSeat}, nil
	}
	return Target{Senders: at[0], Reader: at[1], To: ReaderSeat + "@" + hubName(1)}, nil
}

// linkArgs makes both identities and tells each hop of the other. The first dials the second.
func linkArgs(dir string) ([][]string, error) {
	ports, err := process.FreePorts(2)
	if err != nil {
		return nil, err
	}
	var pins [2]certs.Pin
	for i := range pins {
		if err := os.MkdirAll(hopDir(dir, i), 0o700); err != nil {
			return nil, err
		}
		id, err := certs.Create(hopDir(dir, i), hubName(i), time.Now(), nil)
		if err != nil {
			return nil, err
		}
		pins[i] = id.Pin()
	}
	args := make([][]string, 2)
	for i := range args {
		other := 1 - i
		args[i] = []string{
			"--links", fmt.Sprintf("127.0.0.1:%d", ports[i]), "--peer", hubName(other), "--peer-pin", pins[other].String(),
		}
	}
	args[0] = append(args[0], "--peer-at", fmt.Sprintf("127.0.0.1:%d", ports[1]))
	return args, nil
}

func hopDir(dir string, i int) string { return filepath.Join(dir, hubName(i)) }

// launch starts the hops and waits for all: with a link none is ready before the other.
func (s *Skeleton) launch(ctx context.Context, dir string, args [][]string) (at []string, err error) {
	for i := range args {
		if err := os.MkdirAll(hopDir(dir, i), 0o700); err != nil {
			return nil, err
		}
		all := append(slices.Clone(s.Command[1:]), "--dir", hopDir(dir, i), "--hub", hubName(i))
		if s.Batched {
			all = append(all, "--batched")
		}
		p := process.New(process.Spec{
			Name: "hop-" + hubName(i), Binary: s.Command[0], Args: append(all, args[i]...), Env: s.Env, LogDir: dir,
			Ready: process.Says("ready"),
		})
		if err := p.Launch(); err != nil {
			return nil, err
		}
		s.procs = append(s.procs, p)
	}
	for _, p := range s.procs {
		if err := p.AwaitReady(ctx); err != nil {
			return nil, err
		}
		_, addr, _ := strings.Cut(strings.TrimSpace(p.Stdout()), "agents=")
		at = append(at, addr)
	}
	return at, nil
}

// PIDs are the hops' processes.
func (s *Skeleton) PIDs() (pids []int) {
	for _, p := range s.procs {
		pids = append(pids, p.PID())
	}
	return pids
}

// Stop ends the hops. Their journals are thrown away, so they are not asked.
func (s *Skeleton) Stop(context.Context) error {
	var errs []error
	for _, p := range s.procs {
		errs = append(errs, p.Kill())
	}
	return errors.Join(errs...)
}
