// Package crashfs cuts the power of an in-memory file system: once before every
// operation that changes it. What is left each time can be opened and judged,
// while the workload goes on undisturbed.
//
// It keeps no judgement: the caller marks how far anybody had been told anything,
// and compares what reopens with that.
package crashfs

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Cut is what one power cut left.
type Cut struct {
	FS   *vfs.MemFS // crashable, so that a recovery can be cut again
	Mark int        // what the caller's mark said at the cut
	Op   string     // the operation that was about to change the file system
}

// Crasher takes cuts of one file system. It is safe for concurrent use.
type Crasher struct {
	mem  *vfs.MemFS
	mark func() int

	mu   sync.Mutex
	rng  *rand.Rand
	cuts []Cut
}

// New prepares cuts of mem, which must be crashable. mark is called at every cut,
// under no lock of the file system; it tells how far things had been told by then.
// Of unsynced data a random part survives, drawn from rng.
func New(mem *vfs.MemFS, rng *rand.Rand, mark func() int) *Crasher {
	return &Crasher{mem: mem, rng: rng, mark: mark}
}

// FS is the file system to work on: every change through it is preceded by a cut.
func (c *Crasher) FS() vfs.FS { return errorfs.Wrap(c.mem, c) }

// Cuts are the cuts so far, in order. The slice is the caller's.
func (c *Crasher) Cuts() []Cut {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Cut(nil), c.cuts...)
}

// MaybeError makes a Crasher an injector: it injects nothing and takes a cut.
func (c *Crasher) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	mark := c.mark() // before the clone: what is told afterwards is not owed
	percent := []int{0, 30, 70, 100}[c.rng.IntN(4)]
	clone := c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.rng})
	c.cuts = append(c.cuts, Cut{FS: clone, Mark: mark, Op: fmt.Sprintf("%v %s, %d%% of unsynced data kept", op.Kind, op.Path, percent)})
	return nil
}

// String names the injector.
func (c *Crasher) String() string { return "crasher" }

// Killed copies a file system as a killed process leaves it: everything written is
// there, synced or not.
func Killed(mem *vfs.MemFS) *vfs.MemFS {
	return mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}
