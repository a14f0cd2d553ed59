package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// HEAD is the witness beside the store: the last (seq, chain) that was synced. It is written after every sync and
// itself synced each second, so it is never ahead of the store, and a store below it has lost something.
//
// The file has three slots, one page apart. The newest synced slot is never overwritten: one slot takes writes
// while another is being synced. A crash may tear the slots that were not synced, and one is always whole.
//
//	0  4B  magic "FLHD"      16  u64  seq
//	4  u32 version, 1        24  32B  chain
//	8  u64 counter           56   8B  first bytes of SHA-256 of the 56 before
const (
	headName     = "HEAD"
	headMagic    = "FLHD"
	headVersion  = 1
	headSlots    = 3
	headSlotSize = 64
	headSlotGap  = 4096
	headSyncedAt = time.Second
)

// slot is one statement of HEAD. The counter orders slots; it rises with every write.
type slot struct {
	counter, seq uint64
	chain        [sha256.Size]byte
}

func (s slot) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, headMagic...)
	dst = binary.BigEndian.AppendUint32(dst, headVersion)
	dst = binary.BigEndian.AppendUint64(dst, s.counter)
	dst = binary.BigEndian.AppendUint64(dst, s.seq)
	dst = append(dst, s.chain[:]...)
	sum := sha256.Sum256(dst[at:])
	return append(dst, sum[:8]...)
}

func parseSlot(b []byte) (slot, bool) {
	if len(b) != headSlotSize || string(b[:4]) != headMagic || binary.BigEndian.Uint32(b[4:]) != headVersion {
		return slot{}, false
	}
	if sum := sha256.Sum256(b[:56]); string(sum[:8]) != string(b[56:]) {
		return slot{}, false
	}
	s := slot{counter: binary.BigEndian.Uint64(b[8:]), seq: binary.BigEndian.Uint64(b[16:])}
	copy(s.chain[:], b[24:])
	return s, true
}

var errHeadDamaged = errors.New("every slot of HEAD is damaged")

// readHead reads the newest whole slot and where it lies; damaged counts the others that are not whole.
func readHead(fsys vfs.FS, path string) (newest slot, index, damaged int, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return slot{}, 0, 0, err
	}
	defer f.Close()
	index = -1
	for i := range headSlots {
		var buf [headSlotSize]byte
		if _, err := f.ReadAt(buf[:], int64(i)*headSlotGap); err != nil && !errors.Is(err, io.EOF) {
			return slot{}, 0, 0, err
		}
		s, ok := parseSlot(buf[:])
		if !ok {
			damaged++
		} else if index < 0 || s.counter > newest.counter {
			newest, index = s, i
		}
	}
	if index < 0 {
		return slot{}, 0, damaged, errHeadDamaged
	}
	return newest, index, damaged, nil
}

// createHead makes HEAD for an empty store; it appears whole or not at all.
func createHead(fsys vfs.FS, dir string, s slot) error {
	image := make([]byte, (headSlots-1)*headSlotGap+headSlotSize)
	for i := range headSlots {
		s.counter = uint64(i + 1)
		copy(image[i*headSlotGap:], s.append(nil))
	}
	return writeFileAtomic(fsys, dir, headName, image, nil)
}

// headFile is the open HEAD. write belongs to the one caller of Pending.Wait; the sync goroutine is its own.
type headFile struct {
	f    vfs.File
	hook func(string) error
	fail func(error) // a failed sync of HEAD

	mu       sync.Mutex
	counter  uint64
	synced   int // slot that is known to be on disk
	syncing  int // slot being synced, -1 none
	target   int // slot that takes writes
	dirty    bool
	stop     chan struct{}
	finished chan struct{}
	buf      []byte // write's scratch
}

func openHead(fsys vfs.FS, path string, newest slot, index int, hook func(string) error, fail func(error)) (*headFile, error) {
	f, err := fsys.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	// What the process before wrote may not be on disk yet; only what is counts as the slot to keep.
	if err := f.Sync(); err != nil {
		return nil, errors.Join(fmt.Errorf("sync HEAD: %w", err), f.Close())
	}
	return &headFile{
		f: f, hook: hook, fail: fail,
		counter: newest.counter, synced: index, syncing: -1, target: (index + 1) % headSlots,
		stop: make(chan struct{}), finished: make(chan struct{}),
	}, nil
}

// write puts (seq, chain) into the slot that takes writes.
func (h *headFile) write(seq uint64, chain [sha256.Size]byte) error {
	if err := h.hook(PointHeadWrite); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counter++
	h.buf = slot{h.counter, seq, chain}.append(h.buf[:0])
	if _, err := h.f.WriteAt(h.buf, int64(h.target)*headSlotGap); err != nil {
		return fmt.Errorf("write HEAD: %w", err)
	}
	h.dirty = true
	return nil
}

// sync makes what was written so far durable. Calls must not overlap: run and close order them.
func (h *headFile) sync() error {
	if !h.beginSync() {
		return nil
	}
	if err := h.hook(PointHeadSync); err != nil {
		return err
	}
	if err := h.f.Sync(); err != nil {
		return fmt.Errorf("sync HEAD: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.synced, h.syncing = h.syncing, -1
	return nil
}

// mend rewrites the slots that a crash has torn: the statement of the kept one, in both others.
func (h *headFile) mend() error {
	var whole [headSlotSize]byte
	if _, err := h.f.ReadAt(whole[:], int64(h.synced)*headSlotGap); err != nil {
		return fmt.Errorf("read HEAD: %w", err)
	}
	kept, ok := parseSlot(whole[:])
	if !ok {
		return errHeadDamaged
	}
	for range headSlots - 1 {
		if err := h.write(kept.seq, kept.chain); err != nil {
			return err
		}
		if err := h.sync(); err != nil {
			return err
		}
	}
	return nil
}

// beginSync moves writing to the third slot, so that neither the synced one nor the one being synced changes.
func (h *headFile) beginSync() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.dirty {
		return false
	}
	h.dirty = false
	h.syncing = h.target
	h.target = headSlots - h.syncing - h.synced
	return true
}

// run syncs every so often until stop.
func (h *headFile) run(every time.Duration) {
	defer close(h.finished)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := h.sync(); err != nil {
				h.fail(err)
				return
			}
		case <-h.stop:
			return
		}
	}
}

// halt ends run.
func (h *headFile) halt() {
	close(h.stop)
	<-h.finished
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
