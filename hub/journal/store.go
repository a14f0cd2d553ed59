package journal

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// storeDir is Pebble's folder inside the journal's.
const storeDir = "store"

// Options is how a store is opened. The zero value of every field but HubID is a working default.
type Options struct {
	// FS is where the folder lives; nil is the operating system.
	FS vfs.FS
	// HubID is the owner. A folder of another hub is refused with wrong_hub. Required to create; "" on a read-only
	// store means whoever owns it.
	HubID string
	// Hook is called at every fail-point of points.go; nil is none. It may be called from several goroutines.
	Hook func(point string) error
	// Listener hears of what an operator may want to see. It is called from storage goroutines, some of them
	// holding locks: it must neither block nor call the store. nil is none.
	Listener func(StoreEvent)
	// CacheBytes and MemTableBytes bound Pebble's block cache and one memtable (about four exist at
	// most, beside batches larger than half of one). 0 = 32 MiB and 16 MiB.
	CacheBytes, MemTableBytes int64
	// ReadOnly opens an existing folder without changing it.
	ReadOnly bool

	testing testKnobs
}

// testKnobs exist to show that the checks find what they are for; they are reachable from this package's tests only.
type testKnobs struct {
	noHeadCheck bool
	formatMajor pebble.FormatMajorVersion
	headEvery   time.Duration // 0 = each second
	noCompact   bool
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Hook == nil {
		o.Hook = func(string) error { return nil }
	}
	if o.Listener == nil {
		o.Listener = func(StoreEvent) {}
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = DefaultMemTableBytes
	}
	return o
}

// Store is an open journal. Reads are safe for concurrent use; Apply and Wait each belong to one caller.
type Store struct {
	dir    string
	hub    string
	opts   Options
	fs     vfs.FS
	guard  *guard
	lock   *pebble.Lock
	db     *pebble.DB
	head   *headFile // nil on a read-only store
	users  users
	engine *pebble.Options // as Pebble completed them
	slot   slot            // HEAD as it was found

	// owned by the caller of Apply
	scratch  []byte // previous chain hash, then the header being chained
	snapshot uint64 // newest SnapshotTaken, 0 none
	stuck    bool   // Pebble failed inside Apply and may hold its own locks for ever

	mu      sync.Mutex
	applied position
	synced  position
}

// position is a point of the chain.
type position struct {
	seq   uint64
	chain [sha256.Size]byte
}

// genesis is the chain hash before the first event of a hub.
func genesis(hub string) [sha256.Size]byte {
	return sha256.Sum256([]byte("fleet journal chain 1\x00" + hub))
}

// Open opens the journal in dir, creating it when there is none. Every error is an *Error with its reason. A store
// that has lost durable events is refused with journal_rewound and the missing range, damaged files with
// journal_corrupt. After a write that failed in the background the error is that failure.
//
// Nothing is read before the folder's lock is held, lest a racing starter's half-made journal is taken for one that has
// lost something; so a folder that another process has open is store_locked, whatever else is wrong with it. A
// read-only Open first looks whether there is a journal, and makes nothing where there is none (store_missing). Of a
// folder that is refused for its format or owner nothing is touched but LOCK.
func Open(dir string, o Options) (*Store, error) {
	return open(dir, o.withDefaults())
}

func open(dir string, o Options) (_ *Store, err error) {
	s := newStore(dir, o)
	defer func() {
		if err != nil {
			err = s.refusal(err)
			s.abandon()
		}
	}()
	if err := s.takeLock(); err != nil {
		return nil, err
	}
	found, err := s.checkFormat()
	if err != nil {
		return nil, err
	}
	if !found {
		if err := s.create(); err != nil {
			return nil, err
		}
	}
	if err := s.openEngine(); err != nil {
		return nil, err
	}
	if err := s.recoverHead(); err != nil {
		return nil, err
	}
	return s, nil
}

// refusal is what Open answers: the failure that stopped the store, and not that of the step that met it stopped.
func (s *Store) refusal(err error) error {
	s.guard.quiet.Store(true)
	err = classify("open journal", err)
	if failure := s.guard.failure(); failure != nil && ReasonOf(err) == wire.ReasonJournalFailed {
		return failure
	}
	return err
}

// newStore is a store that has touched nothing yet.
func newStore(dir string, o Options) *Store {
	s := &Store{dir: dir, hub: o.HubID, opts: o}
	s.guard = newGuard(o, func(e *Error) { o.Listener(StoreEvent{Kind: EventFailed, Err: e}) })
	s.fs = guardFS{o.FS, s.guard}
	return s
}

// checkFormat reads FORMAT and refuses what this build must not open. The lock is held.
func (s *Store) checkFormat() (found bool, err error) {
	f, found, err := readFormat(s.fs, s.path(formatName))
	if err == nil && !found && s.opts.ReadOnly {
		return false, s.missing()
	}
	if err != nil || !found {
		return false, err
	}
	if err := f.admit(s.hub); err != nil {
		return true, err
	}
	s.hub = f.hub
	return true, nil
}

func (s *Store) path(elem ...string) string {
	return s.fs.PathJoin(append([]string{s.dir}, elem...)...)
}

func (s *Store) missing() error {
	return &Error{Reason: wire.ReasonStoreMissing, Next: nextMissing, Err: fmt.Errorf("no journal in %s", s.dir)}
}

// takeLock makes the folder, unless it holds a FORMAT and so was made durable before, and takes its lock.
func (s *Store) takeLock() error {
	_, err := s.fs.Stat(s.path(formatName))
	switch {
	case err != nil && !isNotExist(err):
		return fmt.Errorf("look for FORMAT: %w", err)
	case err != nil && s.opts.ReadOnly:
		return s.missing()
	case err != nil:
		if err := s.makeDir(); err != nil {
			return err
		}
	}
	lock, err := pebble.LockDirectory(s.dir, s.fs)
	if err != nil {
		return lockError(err)
	}
	s.lock = lock
	return nil
}

// openEngine reads HEAD and opens Pebble. Both exist since create, so what is missing now was lost.
func (s *Store) openEngine() error {
	if err := s.opts.Hook(PointStoreOpen); err != nil {
		return err
	}
	newest, index, torn, err := readHead(s.fs, s.path(headName))
	if isNotExist(err) || errors.Is(err, errHeadDamaged) {
		return s.withRange(corrupt(Range{}, err))
	}
	if err != nil {
		return err
	}
	s.slot = newest
	if s.db, err = s.openPebble(storeDir); err != nil {
		return err
	}
	if err := s.opts.Hook(PointStoreOpened); err != nil || s.opts.ReadOnly {
		return err
	}
	s.head, err = openHead(s.fs, s.path(headName), newest, index, s.opts.Hook, func(err error) { s.guard.fail(failed(err)) })
	if err == nil && torn > 0 {
		err = s.head.mend()
	}
	return err
}

// openPebble opens the engine. If a flush fails meanwhile, Pebble would try it again for ever and Open never return:
// then the engine is left behind, stuck, and Open refuses.
func (s *Store) openPebble(dir string) (*pebble.DB, error) {
	s.engine = pebbleOptions(s.opts, s.fs, s.guard)
	s.engine.ErrorIfNotExists = dir == storeDir
	s.engine.EnsureDefaults()
	type result struct {
		db  *pebble.DB
		err error
	}
	done := make(chan result, 1)
	s.guard.opening.Store(true)
	go func() {
		db, err := s.callPebble(s.path(dir))
		done <- result{db, err}
	}()
	select {
	case r := <-done:
		// A goroutine of Pebble that has ended meanwhile would be waited for by its Close for ever.
		if s.guard.opening.CompareAndSwap(true, false) {
			return s.opened(r.db, r.err)
		}
	case <-s.guard.stuck:
	}
	s.leaveEngine()
	return nil, s.guard.failure()
}

// opened judges what Pebble's Open came to: once the store has stopped, what Pebble meets next is a consequence, unless
// it names damage.
func (s *Store) opened(db *pebble.DB, err error) (*pebble.DB, error) {
	failure := s.guard.failure()
	switch {
	case failure == nil || pebble.IsCorruptionError(err):
		return db, s.withRange(err)
	case err == nil:
		_ = db.Close() // on a stopped store it fails for the same cause
	}
	return nil, failure
}

// callPebble names the engine's refusals. Pebble panics on some kinds of damage; that is corruption here.
func (s *Store) callPebble(path string) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, corrupt(Range{}, fmt.Errorf("storage engine: %v", r))
		}
	}()
	db, err = pebble.Open(path, s.engine)
	if err != nil {
		return nil, openError(err, s.slot.seq)
	}
	return db, nil
}

// recoverHead finds the end of the chain and holds it against the head slot.
func (s *Store) recoverHead() error {
	last, err := s.lastMark()
	if err != nil {
		return err
	}
	if !s.opts.testing.noHeadCheck {
		if err := s.checkSlot(last); err != nil {
			return err
		}
	}
	if s.snapshot, err = s.snapshotSeq(); err != nil {
		return err
	}
	s.applied, s.synced = last, last
	if s.opts.ReadOnly {
		return nil
	}
	if err := errors.Join(s.head.write(last.seq, last.chain), s.head.sync()); err != nil {
		return err
	}
	go s.head.run(cmp.Or(s.opts.testing.headEvery, headSyncedAt))
	return nil
}

// Head is the end of the chain as applied, synced or not.
func (s *Store) Head() (seq uint64, chain [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied.seq, s.applied.chain
}

// Synced is the end of what Wait has returned for: how far effects may be told and reads may be answered from.
func (s *Store) Synced() (seq uint64, chain [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced.seq, s.synced.chain
}

// HubID is the owner of the journal.
func (s *Store) HubID() string { return s.hub }

// Failure is nil while the store is healthy, and the *Error of its stop for good afterwards.
func (s *Store) Failure() error { return s.guard.failure() }
