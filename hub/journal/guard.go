package journal

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var errReadOnly = errors.New("journal: opened read only")

// refusePause is how long a stopped store's file system holds an operation of Pebble before it refuses it: Pebble
// retries a failed flush at once and for ever, and would spin until the process ends.
const refusePause = 20 * time.Millisecond

// guard stops a store for good: after fail, no byte of it is written again. That makes it safe that the logger
// returns from Fatalf, which Pebble does not expect: what it does next reaches no disk.
type guard struct {
	first    atomic.Pointer[Error]
	readOnly atomic.Bool
	quiet    atomic.Bool   // Open has refused: what comes of letting go is no news
	stopped  chan struct{} // closed by the first failure
	closing  chan struct{} // ends the pauses
	opening  atomic.Bool   // Pebble's Open has not returned
	left     atomic.Bool   // Pebble is left behind: its goroutines end at their next failure
	stuck    chan struct{} // closed when Pebble's Open cannot return any more
	notify   func(*Error)  // called once at most, with the first failure, unless quiet

	syncs, written atomic.Uint64
	room           room
}

func newGuard(o Options, notify func(*Error)) *guard {
	g := &guard{stopped: make(chan struct{}), closing: make(chan struct{}), stuck: make(chan struct{}), notify: notify, room: newRoom(o.MemTableBytes)}
	g.readOnly.Store(o.ReadOnly)
	return g
}

// fail records the first failure and returns the one that counts.
func (g *guard) fail(err *Error) *Error {
	if g.first.CompareAndSwap(nil, err) {
		close(g.stopped)
		if !g.quiet.Load() {
			g.notify(err)
		}
	}
	return g.first.Load()
}

// backgroundFailed stops the store for a write that failed in one of Pebble's goroutines. While Pebble is opening it
// also ends that goroutine, which would otherwise try again for ever; Open is then stuck and left behind.
func (g *guard) backgroundFailed(err error) {
	g.fail(failed(fmt.Errorf("background write: %w", err)))
	if g.opening.CompareAndSwap(true, false) {
		close(g.stuck)
		runtime.Goexit()
	}
	if g.left.Load() {
		runtime.Goexit()
	}
}

// failure is nil while the store is healthy.
func (g *guard) failure() error {
	if e := g.first.Load(); e != nil {
		return e
	}
	return nil
}

// refusesHealthy is true of a read-only store that has not failed. One that Open has abandoned after a failure is read
// only as well, but Pebble may still be opening it and must not be told.
func (g *guard) refusesHealthy() bool { return g.readOnly.Load() && g.first.Load() == nil }

// admit is asked before every operation that would change the folder. Once the store has stopped it answers with the
// failure that did it, so that whatever fails next still says why.
func (g *guard) admit() error {
	if g.first.Load() == nil {
		if g.readOnly.Load() {
			return errReadOnly
		}
		return nil
	}
	pause := time.NewTimer(refusePause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-g.closing:
	}
	return g.failure()
}

// guardFS is the file system as Pebble and this package see it.
type guardFS struct {
	vfs.FS
	g *guard
}

func (f guardFS) Unwrap() vfs.FS { return f.FS }

func (f guardFS) file(open func() (vfs.File, error)) (vfs.File, error) {
	if err := f.g.admit(); err != nil {
		return nil, err
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return guardFile{file, f.g}, nil
}

func (f guardFS) change(do func() error) error {
	if err := f.g.admit(); err != nil {
		return err
	}
	return do()
}

// beforeMarker makes what is in a folder durable before one of Pebble's marker files there appears or goes: Pebble
// syncs the folder only afterwards, so a crash may keep the marker and not the file that it names.
func (f guardFS) beforeMarker(name string) error {
	if !strings.HasPrefix(f.PathBase(name), "marker.") {
		return nil
	}
	return syncDir(f, f.PathDir(name))
}

func (f guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.beforeMarker(name); err != nil {
		return nil, err
	}
	create := func() (vfs.File, error) { return f.FS.Create(name, c) }
	switch {
	case isLog(name):
		return f.lying("log", create)
	case isOptions(name):
		return f.lying("options", create)
	}
	return f.file(create)
}

func (f guardFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.file(func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, opts...) })
}

func (f guardFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	reuse := func() (vfs.File, error) { return f.FS.ReuseForWrite(old, name, c) }
	if isLog(name) {
		return f.lying("log", reuse)
	}
	return f.file(reuse)
}

func (f guardFS) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return guardDir{guardFile{file, f.g}}, nil
}

// guardDir is a folder being synced. Pebble panics when that fails, in goroutines of its own; so the store stops and
// Pebble is told that all went well: whatever it concludes, it cannot write any more and no Wait returns nil.
type guardDir struct{ guardFile }

func (d guardDir) Sync() error {
	if err := d.trySync(); err != nil {
		d.g.fail(failed(fmt.Errorf("sync folder: %w", err)))
	}
	return nil
}

// trySync is Sync for this package.
func (d guardDir) trySync() error { return d.guardFile.Sync() }

func (f guardFS) Link(old, name string) error {
	return f.change(func() error { return f.FS.Link(old, name) })
}

func (f guardFS) Remove(name string) error {
	if err := f.beforeMarker(name); err != nil {
		return err
	}
	return f.change(func() error { return f.FS.Remove(name) })
}

func (f guardFS) RemoveAll(name string) error {
	return f.change(func() error { return f.FS.RemoveAll(name) })
}

func (f guardFS) Rename(old, name string) error {
	err := f.change(func() error { return f.FS.Rename(old, name) })
	if err != nil && isOptions(old) && !f.g.refusesHealthy() {
		f.g.fail(failed(fmt.Errorf("rename options: %w", err)))
		return nil
	}
	return err
}

// List lies as lyingFile does while Pebble opens, and for the same cause: it lists its folder once more after it has
// flushed. An Open that was left behind still does.
func (f guardFS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	opening := f.g.opening.Load() || f.g.failure() != nil
	if err != nil && opening && !f.g.refusesHealthy() && !isNotExist(err) {
		f.g.fail(failed(fmt.Errorf("list folder: %w", err)))
		return nil, nil
	}
	return names, err
}

func (f guardFS) MkdirAll(dir string, perm os.FileMode) error {
	return f.change(func() error { return f.FS.MkdirAll(dir, perm) })
}

// GetDiskUsage says that nothing is known where the disk cannot be asked. It is no write, and Pebble asks while it opens,
// in the goroutine that opens: one that backgroundFailed must not end.
func (f guardFS) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	usage, err := f.FS.GetDiskUsage(path)
	if err != nil {
		return vfs.DiskUsage{}, vfs.ErrUnsupported
	}
	return usage, nil
}

type guardFile struct {
	vfs.File
	g *guard
}

func (f guardFile) Write(p []byte) (int, error) {
	if err := f.g.admit(); err != nil {
		return 0, err
	}
	n, err := f.File.Write(p)
	f.g.written.Add(uint64(n))
	return n, err
}

func (f guardFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.g.admit(); err != nil {
		return 0, err
	}
	n, err := f.File.WriteAt(p, off)
	f.g.written.Add(uint64(n))
	return n, err
}

func (f guardFile) Preallocate(off, n int64) error {
	if err := f.g.admit(); err != nil {
		return err
	}
	return f.File.Preallocate(off, n)
}

// Sync and SyncData ask admit before they look at File: that of a lyingFile may be nil.
func (f guardFile) Sync() error { return f.sync(func() error { return f.File.Sync() }) }

func (f guardFile) SyncData() error { return f.sync(func() error { return f.File.SyncData() }) }

func (f guardFile) SyncTo(n int64) (full bool, err error) {
	err = f.sync(func() error { full, err = f.File.SyncTo(n); return err })
	return full, err
}

func (f guardFile) sync(do func() error) error {
	if err := f.g.admit(); err != nil {
		return err
	}
	f.g.syncs.Add(1)
	return do()
}

// users counts the calls inside a store, so that Close can wait for them.
type users struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   sync.Cond
}

func (u *users) enter() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	u.n++
	return true
}

func (u *users) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n--
	if u.n == 0 && u.closed {
		u.idle.Broadcast()
	}
}

// close refuses new calls and waits for those inside; false if it was closed before.
func (u *users) close() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	u.closed = true
	u.idle.L = &u.mu
	for u.n > 0 {
		u.idle.Wait()
	}
	return true
}
