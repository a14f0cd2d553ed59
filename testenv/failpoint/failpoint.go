// Package failpoint turns a list of injected faults into the hook that journal and key files call at every named
// point of writing.
//
// A list is `NAME[:N]=kill|error`, separated by commas: at the N-th hit of NAME (N ≥ 1, 1 when absent) the process
// ends at once with SIGKILL, so that nothing it holds in memory survives, or the hook returns an error and the node must
// stop by itself. Which names exist is the business of the packages that call the hook; Parse is given them, since a
// misspelt name would be a test that tests nothing.
package failpoint

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Action says what happens at the point.
type Action string

// The actions.
const (
	Kill  Action = "kill"  // SIGKILL to the own process
	Error Action = "error" // the hook returns ErrInjected
)

// ErrInjected is what the hook returns at a point of Action Error, wrapped with the point's name.
var ErrInjected = errors.New("injected fault")

// Point is one entry of a list.
type Point struct {
	Name   string
	Hit    uint64 // the hit that fires, from 1
	Action Action
}

// String is the entry as Parse reads it.
func (p Point) String() string { return fmt.Sprintf("%s:%d=%s", p.Name, p.Hit, p.Action) }

// Parse reads a list. known holds every name that exists; an unknown name is an error that names them. An empty list is
// no points.
func Parse(list string, known []string) ([]Point, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var points []Point
	for entry := range strings.SplitSeq(list, ",") {
		p, err := parsePoint(strings.TrimSpace(entry), known)
		if err != nil {
			return nil, fmt.Errorf("fail-point %q: %w", entry, err)
		}
		points = append(points, p)
	}
	return points, nil
}

func parsePoint(entry string, known []string) (Point, error) {
	left, action, ok := strings.Cut(entry, "=")
	if !ok {
		return Point{}, errors.New("want NAME[:N]=kill|error")
	}
	p := Point{Name: left, Hit: 1, Action: Action(action)}
	if name, count, counted := strings.Cut(left, ":"); counted {
		hit, err := strconv.ParseUint(count, 10, 64)
		if err != nil || hit == 0 {
			return Point{}, fmt.Errorf("%q is not a count of hits from 1", count)
		}
		p.Name, p.Hit = name, hit
	}
	if p.Action != Kill && p.Action != Error {
		return Point{}, fmt.Errorf("%q is neither kill nor error", action)
	}
	if !slices.Contains(known, p.Name) {
		return Point{}, fmt.Errorf("no such point; there are %s", strings.Join(known, ", "))
	}
	return p, nil
}

// Set counts hits and fires. The zero value fires nothing.
type Set struct {
	mu     sync.Mutex
	points []Point
	hits   map[string]uint64
	kill   func()
}

// New makes a set of points. The process is killed through kill; nil means SIGKILL to the own process.
func New(points []Point, kill func()) *Set {
	if kill == nil {
		kill = killSelf
	}
	return &Set{points: points, hits: map[string]uint64{}, kill: kill}
}

// Hit is the hook. It is safe for concurrent use.
func (s *Set) Hit(point string) error {
	if len(s.points) == 0 {
		return nil
	}
	s.mu.Lock()
	s.hits[point]++
	hit := s.hits[point]
	s.mu.Unlock()
	for _, p := range s.points {
		if p.Name != point || p.Hit != hit {
			continue
		}
		if p.Action == Kill {
			s.kill()
		}
		return fmt.Errorf("%w at %s", ErrInjected, point)
	}
	return nil
}

// killSelf ends the process without any deferred work. SIGKILL cannot be caught; the pending signal may let this thread
// run a few more instructions, so it blocks for ever.
func killSelf() {
	// There is no answer to a failed kill of oneself but to stop here.
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {}
}
