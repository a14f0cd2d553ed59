package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2"
)

// ErrBatch marks a batch that was refused as it is: a gap in the sequence, a reserved key, a tombstone for what is
// not there. Nothing was changed and the store goes on; the batch's maker has a bug.
var ErrBatch = errors.New("journal: refused batch")

// Pending is a batch that was applied and is being synced.
type Pending struct {
	store    *Store
	batch    *pebble.Batch
	end      position
	moved    bool // the end of the chain may be further than at the last sync
	deferred bool // durable only with a later batch

	snapshot uint64 // newest SnapshotTaken after the batch
	done     bool
	err      error
}

// Apply writes b as one step and returns without waiting for the disk. What it wrote is readable at once and
// durable once Wait has returned nil. One caller, in order; at most a few hundred batches may wait.
func (s *Store) Apply(b *Batch) (*Pending, error) {
	if !s.users.enter() {
		return nil, ErrClosed
	}
	defer s.users.leave()
	if err := s.guard.failure(); err != nil {
		return nil, err
	}
	point, err := s.admit(b)
	if err != nil {
		return nil, err
	}
	if err := s.opts.Hook(point); err != nil {
		return nil, s.guard.fail(failed(err))
	}
	p := &Pending{store: s, batch: s.db.NewBatchWithSize(b.bytes + 64), end: s.applied, moved: len(b.events) > 0 || b.barrier, deferred: b.deferred, snapshot: s.snapshot}
	if err := s.stage(p, b); err != nil {
		err = errors.Join(err, p.batch.Close())
		if ReasonOf(err) == wire.ReasonJournalFailed {
			err = s.guard.fail(failed(err)) // the disk cannot even be read
		}
		return nil, err
	}
	if err := s.commit(p.batch, !p.deferred); err != nil {
		return nil, s.guard.fail(failed(fmt.Errorf("apply: %w", err)))
	}
	s.snapshot = p.snapshot
	s.mu.Lock()
	s.applied = p.end
	s.mu.Unlock()
	if err := s.opts.Hook(PointApplyAfter); err != nil {
		return nil, s.guard.fail(failed(err))
	}
	return p, nil
}

// commit gives the batch to Pebble once there is memory for it. Pebble itself never makes a write wait, see
// writesNeverStop: in there nothing could end the wait when the flush fails that it is for.
func (s *Store) commit(batch *pebble.Batch, sync bool) error {
	if s.guard.room.short() && s.memoryFull() {
		s.awaitRoom()
	}
	if err := s.guard.failure(); err != nil {
		return err
	}
	s.guard.room.take(batch.Len())
	if err := s.applyOne(batch, sync); err != nil {
		s.leaveEngine()
		return err
	}
	return s.guard.failure()
}

// memoryFull is true only while Pebble runs a flush or is about to: it does as soon as half a memtable waits for that,
// and all but one of these do.
func (s *Store) memoryFull() bool {
	return s.db.Metrics().MemTable.Size >= uint64(maxMemTables*s.opts.MemTableBytes)
}

// awaitRoom returns when there is memory or the store has stopped. The flush that it waits for ends, or fails and stops
// the store.
func (s *Store) awaitRoom() {
	s.opts.Listener(StoreEvent{Kind: EventStallBegin, Text: "writes wait for a flush"})
	defer s.opts.Listener(StoreEvent{Kind: EventStallEnd, Text: "writes wait no longer"})
	for s.memoryFull() {
		select {
		case <-s.guard.room.ended:
		case <-s.guard.stopped:
			return
		}
	}
}

// applyOne turns a panic of Pebble into an error; it may hold its own locks for ever after that.
func (s *Store) applyOne(batch *pebble.Batch, sync bool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("storage engine: %v", r)
		}
	}()
	if !sync {
		return s.db.Apply(batch, pebble.NoSync)
	}
	return s.db.ApplyNoSyncWait(batch, pebble.Sync)
}

// admit checks what only the caller can get wrong, and names the fail-point of this batch.
func (s *Store) admit(b *Batch) (point string, err error) {
	if s.opts.ReadOnly {
		return "", fmt.Errorf("%w: the store is read only", ErrBatch)
	}
	if b.Empty() {
		return "", fmt.Errorf("%w: it is empty", ErrBatch)
	}
	for i := range b.events {
		if want := s.applied.seq + 1 + uint64(i); b.events[i].Seq != want {
			return "", fmt.Errorf("%w: event %d where %d is next", ErrBatch, b.events[i].Seq, want)
		}
		if err := admitEvent(&b.events[i]); err != nil {
			return "", err
		}
	}
	for i := range b.ops {
		if err := admitOp(&b.ops[i]); err != nil {
			return "", err
		}
	}
	return pointOf(b), nil
}

func pointOf(b *Batch) string {
	for i := range b.events {
		switch b.events[i].Kind {
		case KindBodyPurged:
			return PointPurgeApply
		case KindSnapshotTaken:
			return PointSnapshotApply
		}
	}
	return PointApplyBefore
}

// admitEvent completes an event and refuses one that could not be read back.
func admitEvent(ev *Event) error {
	info, ok := ev.Kind.info()
	if ev.Format == 0 {
		ev.Format = info.format
	}
	if !ok || ev.Format&FormatNumber != info.format {
		return fmt.Errorf("%w: event %d: %w: %v format %d", ErrBatch, ev.Seq, ErrUnknownKind, ev.Kind, ev.Format)
	}
	if len(ev.Attrs) > MaxAttrs || len(ev.Body) > MaxBody || (!ev.HasBody && ev.Body != nil) {
		return fmt.Errorf("%w: event %d: %d bytes of attributes, %d of body, has body %v", ErrBatch, ev.Seq, len(ev.Attrs), len(ev.Body), ev.HasBody)
	}
	ev.BodyLen = uint32(len(ev.Body))
	if ev.HasBody && ev.Digest == [sha256.Size]byte{} {
		ev.Digest = sha256.Sum256(ev.Body)
	}
	return nil
}

// admitOp keeps table changes out of the journal's own tables, and ranges within one table.
func admitOp(o *op) error {
	if len(o.key) == 0 || ownTable(o.key[0]) {
		return fmt.Errorf("%w: key in a reserved table", ErrBatch)
	}
	if o.kind != opDeleteRange {
		return nil
	}
	end := len(o.value) > 0 && (o.value[0] == o.key[0] || (len(o.value) == 1 && o.value[0] == o.key[0]+1))
	if !end {
		return fmt.Errorf("%w: range over more than one table", ErrBatch)
	}
	return nil
}

// barrierData is what a barrier writes to the log; nothing reads it.
var barrierData = []byte("barrier")

// stage encodes b into p's Pebble batch and moves p's end along the chain.
func (s *Store) stage(p *Pending, b *Batch) error {
	for i := range b.events {
		if err := s.stageEvent(p, &b.events[i]); err != nil {
			return err
		}
	}
	var key [9]byte
	if b.barrier {
		if err := p.batch.LogData(barrierData, nil); err != nil {
			return err
		}
	}
	if len(b.events) > 0 {
		if err := p.batch.Set(appendSeqKey(key[:0], tableChain, p.end.seq), p.end.chain[:], nil); err != nil {
			return err
		}
	}
	for i := range b.ops {
		if err := stageOp(p.batch, &b.ops[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) stageEvent(p *Pending, ev *Event) error {
	s.scratch = AppendHeader(append(s.scratch[:0], p.end.chain[:]...), ev)
	p.end = position{ev.Seq, sha256.Sum256(s.scratch)}
	var key [9]byte
	if err := p.batch.Set(appendSeqKey(key[:0], tableEvent, ev.Seq), s.scratch[sha256.Size:], nil); err != nil {
		return err
	}
	if ev.HasBody {
		if err := p.batch.Set(appendSeqKey(key[:0], tableBody, ev.Seq), ev.Body, nil); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case KindSnapshotTaken:
		return stageSnapshot(p, ev)
	case KindBodyPurged:
		return s.stagePurge(p.batch, ev)
	}
	return nil
}

func stageOp(batch *pebble.Batch, o *op) error {
	switch o.kind {
	case opPut:
		return batch.Set(o.key, o.value, nil)
	case opDelete:
		return batch.Delete(o.key, nil)
	case opDeleteRange:
		return batch.DeleteRange(o.key, o.value, nil)
	}
	panic(fmt.Sprintf("journal: table change %d", o.kind))
}

// stageSnapshot makes this the newest snapshot; the body of the one before goes, since it can be derived again.
func stageSnapshot(p *Pending, ev *Event) error {
	rec, err := ParseSnapshotTaken(ev.Attrs)
	if err != nil || !ev.HasBody || rec.UpTo >= ev.Seq {
		return fmt.Errorf("%w: event %d: malformed snapshot up to %d", ErrBatch, ev.Seq, rec.UpTo)
	}
	if old := p.snapshot; old != 0 {
		if err := p.batch.Delete(seqKey(tableBody, old), nil); err != nil {
			return err
		}
	}
	p.snapshot = ev.Seq
	return p.batch.Set([]byte{tableSnapshot}, SeqValue(ev.Seq), nil)
}

// stagePurge deletes a body and leaves the mark that says which tombstone did it.
func (s *Store) stagePurge(batch *pebble.Batch, ev *Event) error {
	rec, err := ParseBodyPurged(ev.Attrs)
	if err != nil {
		return fmt.Errorf("%w: event %d: %w", ErrBatch, ev.Seq, err)
	}
	target, ok, err := s.event(rec.Seq)
	if err != nil {
		return err
	}
	if !ok || !target.HasBody || target.Digest != rec.Digest || target.Kind == KindSnapshotTaken {
		return fmt.Errorf("%w: event %d: event %d has no such body to purge", ErrBatch, ev.Seq, rec.Seq)
	}
	if _, again, err := s.get(seqKey(tablePurged, rec.Seq)); err != nil || again {
		return errors.Join(fmt.Errorf("%w: event %d: the body of event %d was purged before", ErrBatch, ev.Seq, rec.Seq), err)
	}
	if err := batch.Delete(seqKey(tableBody, rec.Seq), nil); err != nil {
		return err
	}
	return batch.Set(seqKey(tablePurged, rec.Seq), SeqValue(ev.Seq), nil)
}

// Wait blocks until the batch is durable, then writes the head slot. nil means that no later start is without it;
// an error that the store has stopped, whether or not the batch survived. One caller, in the order of Apply.
func (p *Pending) Wait() error {
	if p.done {
		return p.err
	}
	p.done = true
	if !p.store.users.enter() {
		p.err = ErrClosed
		return p.err
	}
	defer p.store.users.leave()
	p.err = p.wait()
	return p.err
}

func (p *Pending) wait() error {
	s := p.store
	if p.deferred {
		return errors.Join(s.guard.failure(), p.batch.Close())
	}
	hookErr := s.opts.Hook(PointSyncBefore)
	if err := p.batch.SyncWait(); err != nil {
		return s.guard.fail(failed(fmt.Errorf("sync: %w", err)))
	}
	if hookErr == nil {
		hookErr = s.opts.Hook(PointSyncAfter)
	}
	if hookErr != nil {
		return s.guard.fail(failed(hookErr))
	}
	if err := s.guard.failure(); err != nil {
		return err
	}
	if p.moved {
		if err := s.head.write(p.end.seq, p.end.chain); err != nil {
			return s.guard.fail(failed(err))
		}
	}
	s.mu.Lock()
	s.synced = p.end
	s.mu.Unlock()
	if err := p.batch.Close(); err != nil {
		return s.guard.fail(failed(err))
	}
	return nil
}

// seqEnd is the last seq a scan may ask for.
const seqEnd = math.MaxUint64
