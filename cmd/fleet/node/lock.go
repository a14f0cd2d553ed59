package node

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"syscall"
	"time"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// A command on a stopped folder has its journal open for a moment, and so has a node that starts or stops. What wants
// it meanwhile looks again every lockEvery until lockPatience is over.
const (
	lockPatience = 2 * time.Second
	lockEvery    = 20 * time.Millisecond
)

// openStore opens the journal of a node's folder once nobody else has it open. If a full disk stops the
// store while it opens, the error is that of the disk and not of the step that found the store stopped.
func openStore(dir string, o journal.Options) (*journal.Store, error) {
	var stopped atomic.Pointer[error]
	listen := o.Listener
	o.Listener = func(ev journal.StoreEvent) {
		if ev.Kind == journal.EventFailed && ev.Err != nil {
			stopped.CompareAndSwap(nil, &ev.Err)
		}
		if listen != nil {
			listen(ev)
		}
	}
	store, err := onceUnlocked(dir, func() (*journal.Store, error) { return journal.Open(JournalDir(dir), o) })
	if first := stopped.Load(); first != nil && journal.ReasonOf(err) == wire.ReasonJournalFailed && fileRefusal(dir, *first) != nil {
		err = *first
	}
	return store, err
}

// onceUnlocked calls open until it meets another answer than store_locked, a node that serves the folder and so will
// not let go of it, or the end of its patience.
func onceUnlocked[T any](dir string, open func() (T, error)) (T, error) {
	patience := time.NewTimer(lockPatience)
	defer patience.Stop()
	again := time.NewTicker(lockEvery)
	defer again.Stop()
	for {
		v, err := open()
		// A lock that may not be looked at says nothing of who holds it.
		if journal.ReasonOf(err) != wire.ReasonStoreLocked || errors.Is(err, fs.ErrPermission) || serves(dir) {
			return v, err
		}
		select {
		case <-patience.C:
			return v, err
		case <-again.C:
		}
	}
}

// serves says whether a node has the folder's admin socket; one that has more connections than it takes up has it too.
func serves(dir string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	c, err := dialAdmin(ctx, dir)
	if errors.Is(err, syscall.EAGAIN) {
		return true
	}
	return err == nil && c.Close() == nil
}
