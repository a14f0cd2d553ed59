package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Checkpoint is the product after so many settled messages.
type Checkpoint struct {
	Settled     int     `json:"settled"`
	ResidentMiB float64 `json:"resident_mib"`
	PerS        float64 `json:"messages_per_s"` // since the checkpoint before
}

// Growth shows what settled messages cost: memory at checkpoints, and the time of a start with all of them.
type Growth struct {
	Checkpoints []Checkpoint `json:"checkpoints"` // the first is before any message
	EmptyStart  float64      `json:"empty_start_ms"`
	FullStart   float64      `json:"full_start_ms"`
}

// Settle sends messages to one node in steps until total are delivered and acknowledged, then restarts it.
func Settle(ctx context.Context, p *Product, total, steps int, dir string, progress func(text string)) (g *Growth, err error) {
	dir, err = os.MkdirTemp(dir, "fleet-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Stop(ctx), os.RemoveAll(dir)) }()
	target, err := p.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	g = &Growth{}
	if g.EmptyStart, err = restart(ctx, p); err != nil {
		return nil, err
	}
	g.Checkpoints = append(g.Checkpoints, Checkpoint{ResidentMiB: resident(p)})
	shape := Shapes()[2]
	for step := 1; step <= steps; step++ {
		m, err := Generate(ctx, target, shape, Length{Messages: total / steps}, nil, nil)
		if err != nil {
			return nil, err
		}
		cp := Checkpoint{Settled: g.Checkpoints[step-1].Settled + m.Messages, ResidentMiB: resident(p), PerS: m.PerS}
		g.Checkpoints = append(g.Checkpoints, cp)
		progress(fmt.Sprintf("%9d settled  %6.0f MiB resident  %8.0f msgs/s", cp.Settled, cp.ResidentMiB, cp.PerS))
	}
	g.FullStart, err = restart(ctx, p)
	return g, err
}

func resident(p *Product) float64 { return float64(UsageOf(p.PIDs()).RSS) / (1 << 20) }

func restart(ctx context.Context, p *Product) (float64, error) {
	took, err := p.Restart(ctx)
	return float64(took) / float64(time.Millisecond), err
}
