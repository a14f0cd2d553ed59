package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"

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
	// CacheBytes and MemTableBytes bound Pebble's block cache and one memtable (at most four exist).
	// 0 = 32 MiB and 16 MiB.
	CacheBytes, MemTableBytes int64
	// ReadOnly opens an existing folder without changing it.
	ReadOnly bool

	testing testKnobs
}

// testKnobs exist to show that the checks find what they are for; they are reachable from this package's tests only.
type testKnobs struct {
	noHeadCheck bool
	formatMajor pebble.FormatMajorVersion
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
	stuck    bool   // Pebble panicked inside Apply and holds its own lock for ever

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
// journal_corrupt; a folder that is refused for its format or owner is not touched.
func Open(dir string, o Options) (*Store, error) {
	s, err := open(dir, o.withDefaults())
	if err != nil {
		return nil, classify("open journal", err)
	}
	return s, nil
}

func open(dir string, o Options) (_ *Store, err error) {
	s := newStore(dir, o)
	defer func() {
		if err != nil {
			s.abandon()
		}
	}()
	found, err := s.checkFormat()
	if err != nil {
		return nil, err
	}
	if err := s.takeLock(found); err != nil {
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

// newStore is a store that has touched nothing yet.
func newStore(dir string, o Options) *Store {
	s := &Store{dir: dir, hub: o.HubID, opts: o}
	s.guard = newGuard(o.ReadOnly, func(e *Error) { o.Listener(StoreEvent{Kind: EventFailed, Err: e}) })
	s.fs = guardFS{o.FS, s.guard}
	return s
}

// checkFormat reads FORMAT and refuses what this build must not open.
func (s *Store) checkFormat() (found bool, err error) {
	f, found, err := readFormat(s.fs, s.path(formatName))
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

func (s *Store) takeLock(found bool) error {
	missing := &Error{Reason: wire.ReasonStoreMissing, Next: nextMissing, Err: fmt.Errorf("no journal in %s", s.dir)}
	if !s.opts.ReadOnly {
		if err := s.fs.MkdirAll(s.path(storeDir), 0o700); err != nil {
			return err
		}
	} else if _, err := s.fs.Stat(s.path(storeDir)); !found || isNotExist(err) {
		return missing
	}
	lock, err := pebble.LockDirectory(s.path(storeDir), s.fs)
	if err != nil {
		return lockError(err)
	}
	s.lock = lock
	return nil
}

// create makes FORMAT and HEAD, in this order: a crash between them leaves an owner and no events, and opening
// goes on from there.
func (s *Store) create() error {
	if s.hub == "" || strings.ContainsAny(s.hub, "\n\x00") {
		return fmt.Errorf("a journal needs a hub id, got %q", s.hub)
	}
	if err := s.mustBeEmpty(); err != nil {
		return err
	}
	return createFormat(s.fs, s.dir, s.hub, s.opts.Hook)
}

// mustBeEmpty refuses to take a folder for new that has lost its FORMAT.
func (s *Store) mustBeEmpty() error {
	if _, err := s.fs.Stat(s.path(headName)); !isNotExist(err) {
		return errors.Join(corrupt(Range{}, errors.New("FORMAT is missing beside an existing HEAD")), err)
	}
	names, err := s.storeFiles()
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return corrupt(Range{}, errors.New("FORMAT is missing beside an existing store"))
	}
	return nil
}

// storeFiles lists Pebble's folder without its lock.
func (s *Store) storeFiles() ([]string, error) {
	names, err := s.fs.List(s.path(storeDir))
	if err != nil {
		return nil, err
	}
	kept := names[:0]
	for _, name := range names {
		if name != "LOCK" {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

// openEngine reads HEAD (making it for a store that never had an event) and opens Pebble.
func (s *Store) openEngine() error {
	if err := s.opts.Hook(PointStoreOpen); err != nil {
		return err
	}
	newest, index, _, err := readHead(s.fs, s.path(headName))
	if isNotExist(err) {
		newest, index, err = s.freshHead()
	}
	if errors.Is(err, errHeadDamaged) {
		return corrupt(Range{}, err)
	}
	if err != nil {
		return err
	}
	s.slot = newest
	if s.db, err = s.openPebble(newest.seq > 0); err != nil {
		return err
	}
	if err := s.opts.Hook(PointStoreOpened); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return nil
	}
	s.head, err = openHead(s.fs, s.path(headName), newest, index, s.opts.Hook, func(err error) { s.guard.fail(failed(err)) })
	return err
}

// freshHead makes HEAD where there is none, if the store has never held anything.
func (s *Store) freshHead() (slot, int, error) {
	names, err := s.storeFiles()
	if err != nil {
		return slot{}, 0, err
	}
	if len(names) > 0 || s.opts.ReadOnly {
		return slot{}, 0, corrupt(Range{}, errors.New("HEAD is missing beside an existing store"))
	}
	if err := s.opts.Hook(PointHeadCreate); err != nil {
		return slot{}, 0, err
	}
	first := slot{counter: headSlots, chain: genesis(s.hub)}
	return first, headSlots - 1, createHead(s.fs, s.dir, first)
}

// openPebble opens the engine. Pebble panics on some kinds of damage; that is corruption here.
func (s *Store) openPebble(mustExist bool) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, corrupt(Range{}, fmt.Errorf("storage engine: %v", r))
		}
	}()
	s.engine = pebbleOptions(s.opts, s.fs, s.lock, s.guard, mustExist)
	s.engine.EnsureDefaults()
	db, err = pebble.Open(s.path(storeDir), s.engine)
	if err != nil {
		return nil, s.withRange(openError(err, s.slot.seq))
	}
	if err := s.guard.failure(); err != nil {
		return nil, errors.Join(err, db.Close())
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
	go s.head.run()
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
