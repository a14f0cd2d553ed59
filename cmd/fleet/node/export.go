package node

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// pageEvents bounds how many events are read between two looks at the context.
const pageEvents = 512

// exported is an event, and whether the body that was asked for is gone by a purge.
type exported struct {
	journal.Exported
	BodyPurged bool `json:"body_purged,omitzero"`
}

// exportEvents hands the events from..to (0: the end at the time of the call) to put, oldest first. A from beyond the
// end is refused with no_such_event; a to beyond it means the end.
func exportEvents(ctx context.Context, store *journal.Store, from, to uint64, bodies bool, put func(any) error) error {
	if err := checkStart(store, from); err != nil {
		return err
	}
	head, _ := store.Head()
	if to == 0 || to > head {
		to = head
	}
	for seq := max(from, 1); seq <= to; seq++ {
		if seq%pageEvents == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ev, ok, err := store.Event(seq)
		if err != nil {
			return err
		}
		if !ok {
			return &Refusal{Reason: wire.ReasonJournalCorrupt, Text: "event " + strconv.FormatUint(seq, 10) + " is missing", Next: Command("journal", "verify")}
		}
		row := exported{}
		if bodies && ev.HasBody {
			body, whole, err := store.Body(seq)
			if err != nil {
				return err
			}
			if whole {
				ev.Body = body
			}
			row.BodyPurged = !whole && ev.Kind != journal.KindSnapshotTaken
		}
		row.Exported = journal.ExportEvent(ev)
		if err := put(row); err != nil {
			return err
		}
	}
	return nil
}

// checkStart refuses to begin after the end of the journal, with no_such_event.
func checkStart(store *journal.Store, from uint64) error {
	head, _ := store.Head()
	if from <= head {
		return nil
	}
	return &Refusal{Reason: wire.ReasonNoSuchEvent, Text: fmt.Sprintf("the journal ends at event %d, before event %d", head, from), Next: Command("status")}
}

// ExportStopped is Client.Export for a folder that no process has open. It reads the store and changes nothing, so it
// also works where the core would refuse to start.
func ExportStopped(ctx context.Context, dir string, from, to uint64, bodies bool, line func([]byte) error) error {
	store, err := OpenStopped(dir)
	if err != nil {
		return err
	}
	err = exportEvents(ctx, store, from, to, bodies, func(v any) error {
		b, err := wire.Marshal(v)
		if err != nil {
			return err
		}
		return line(append(b, '\n'))
	})
	return joinClose(err, store.Close())
}

// OpenStopped opens the journal in a node's folder for reading.
func OpenStopped(dir string) (*journal.Store, error) {
	cfg, _, err := LoadConfig(dir, nil, nil)
	if err = cmp.Or(err, checkJournal(dir)); err != nil {
		return nil, err
	}
	store, err := openStore(dir, journal.Options{HubID: cfg.Hub, ReadOnly: true})
	if err != nil {
		return nil, openError(dir, err)
	}
	return store, nil
}

// Verify reads the whole journal of a stopped node; see journal.Verify. A running node is refused with already_running.
func Verify(ctx context.Context, dir string) (journal.Report, error) {
	cfg, _, err := LoadConfig(dir, nil, nil)
	if err = cmp.Or(err, checkJournal(dir)); err != nil {
		return journal.Report{}, err
	}
	report, err := onceUnlocked(dir, func() (journal.Report, error) {
		return journal.Verify(JournalDir(dir), journal.Options{HubID: cfg.Hub}, nil)
	})
	if err != nil {
		return report, alreadyRunning(dir, openError(dir, err))
	}
	return report, ctx.Err()
}
