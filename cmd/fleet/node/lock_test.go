package node

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// TestLockedForAMoment opens a folder whose journal a command is about to let go of.
func TestLockedForAMoment(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	held, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- held.Close() }()
	n, err := Open(Options{Dir: dir})
	if err := errors.Join(err, <-closed); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLockPatience: a locked journal is tried again until it opens, or until the patience is over.
func TestLockPatience(t *testing.T) {
	locked := &journal.Error{Reason: wire.ReasonStoreLocked}
	for _, c := range []struct {
		name     string
		err      error
		failures int
		want     wire.Reason
		least    time.Duration
		most     time.Duration
	}{
		{"at once", locked, 0, "", 0, 0},
		{"let go", locked, 7, "", 7 * lockEvery, 7 * lockEvery},
		{"held", locked, 1 << 20, wire.ReasonStoreLocked, lockPatience, lockPatience},
		{"damaged", &journal.Error{Reason: wire.ReasonJournalCorrupt}, 1, wire.ReasonJournalCorrupt, 0, 0},
		{"not ours", &journal.Error{Reason: wire.ReasonStoreLocked, Err: &fs.PathError{Err: syscall.EACCES}}, 1, wire.ReasonStoreLocked, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				_, err := onceUnlocked(dir, func() (int, error) {
					if calls++; calls <= c.failures {
						return 0, c.err
					}
					return 1, nil
				})
				if took := time.Since(began); journal.ReasonOf(err) != c.want || took < c.least || took > c.most {
					t.Errorf("%v after %v and %d calls", err, took, calls)
				}
			})
		})
	}
}

// TestLockedByServing: nobody waits for a node that serves.
func TestLockedByServing(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	serve(t, Options{Dir: dir})
	calls := 0
	_, err := onceUnlocked(dir, func() (int, error) {
		calls++
		return 0, &journal.Error{Reason: wire.ReasonStoreLocked}
	})
	if calls != 1 || err == nil {
		t.Errorf("%d calls, %v", calls, err)
	}
	if _, err := Open(Options{Dir: dir}); ReasonOf(err) != wire.ReasonAlreadyRunning {
		t.Errorf("got %v", err)
	}
}
