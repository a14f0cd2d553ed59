package journal

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sizes that suit a hub: a memtable holds some seconds of busy traffic, the cache the open work.
const (
	DefaultMemTableBytes = 16 << 20
	DefaultCacheBytes    = 32 << 20

	bloomBits = 10

	// compactAt is how many flushed memtables lie over each other before they are merged into the levels below. Every
	// merge also writes again what it finds there of the same rows, so that few large ones write less than many small
	// ones; a reading may have to look at as many tables, which their filters mostly spare it.
	compactAt = 12

	// maxMemTables is how many memtables' bytes Pebble may hold before Apply waits for a flush, see awaitRoom.
	maxMemTables = 4
	// writesNeverStop is far above what room and the size of a disk allow of memtables and sublevels. Pebble must stop no
	// write: it would do so inside Apply, and for ever once its flushes or compactions fail. Compactions that are behind
	// slow reads and stall nothing.
	writesNeverStop = 1 << 20
)

// pebbleOptions is how every store is opened. Pebble stays at its newest format: older ones take a flipped bit in
// a log for the end of the log.
func pebbleOptions(o Options, fs vfs.FS, g *guard) *pebble.Options {
	po := &pebble.Options{
		FS:                 fs,
		FormatMajorVersion: pebble.FormatNewest,
		CacheSize:          o.CacheBytes,
		MemTableSize:       uint64(o.MemTableBytes),
		ReadOnly:           o.ReadOnly,

		MemTableStopWritesThreshold: writesNeverStop,
		L0StopWritesThreshold:       writesNeverStop,
		L0CompactionThreshold:       compactAt,

		Logger:        logger{g},
		EventListener: listener(g, o.Listener),
	}
	po.DisableAutomaticCompactions = o.testing.noCompact
	if o.testing.formatMajor != 0 {
		po.FormatMajorVersion = o.testing.formatMajor
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	return po
}

// logger keeps Pebble from ending the process: Fatalf stops the store instead (see guard). Pebble's own lines are
// dropped, since what matters of them arrives as events.
type logger struct{ g *guard }

func (logger) Infof(string, ...any) {}

func (logger) Errorf(string, ...any) {}

func (l logger) Fatalf(format string, args ...any) {
	l.g.fail(failed(fmt.Errorf("storage engine: "+format, args...)))
}

// StoreEventKind names what a StoreEvent tells.
type StoreEventKind uint8

const (
	// EventFailed: the store has stopped for good; Err is the *Error every call now answers.
	EventFailed StoreEventKind = iota + 1
	// EventCorruption: damaged data was found on disk; reads of it answer journal_corrupt. A damaged file, Text, is told
	// once, and so is damage in a file that is not known; a Patrol tells every damaged range in every round.
	EventCorruption
	// EventStallBegin and EventStallEnd: Apply waits for a flush.
	EventStallBegin
	// EventStallEnd ends what EventStallBegin began.
	EventStallEnd
	// EventLowDisk: the volume is filling up.
	EventLowDisk
)

// StoreEvent is something about the store that an operator may want to see.
type StoreEvent struct {
	Kind StoreEventKind
	Err  error
	Text string
}

// listener turns Pebble's events into ours. Any background write error stops the store: a failing disk is not
// retried, and Pebble would retry for ever. So does a flush that fails for any other cause, since nothing could be written
// for long. Other damage found in the background does not stop it: what is damaged is refused when it is read.
func listener(g *guard, tell func(StoreEvent)) *pebble.EventListener {
	var told sync.Map // files whose damage was told, "" for one that Pebble does not name; every read would tell it again
	damaged := func(path string, err error) {
		if _, again := told.LoadOrStore(path, true); !again {
			tell(StoreEvent{Kind: EventCorruption, Err: err, Text: path})
		}
	}
	l := pebble.EventListener{
		BackgroundError: func(err error) {
			info := pebble.ExtractDataCorruptionInfo(err)
			switch {
			case g.room.flushFailed(err):
				g.backgroundFailed(err)
			case info != nil:
				damaged(info.Path, info.Details)
			case pebble.IsCorruptionError(err):
				damaged("", err)
			default:
				g.backgroundFailed(err)
			}
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) { damaged(info.Path, info.Details) },
		WALCreated:     func(pebble.WALCreateInfo) { g.room.rotated() },
		FlushBegin:     func(info pebble.FlushInfo) { g.room.flushBegan(info.Input, info.InputBytes) },
		FlushEnd:       func(info pebble.FlushInfo) { g.room.flushEnded(info.Err) },
		LowDiskSpace: func(info pebble.LowDiskSpaceInfo) {
			tell(StoreEvent{Kind: EventLowDisk, Text: info.String()})
		},
	}
	l.EnsureDefaults(logger{g})
	return &l
}
