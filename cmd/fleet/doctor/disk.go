package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

const (
	// syncs is how many syncs the disk is judged by; blockBytes is written before each.
	syncs      = 50
	blockBytes = 4 << 10
	// slowSync is a median at which people notice that every message waits for a sync.
	slowSync = 100 * time.Millisecond
	// fastSync is a median that hardly any disk reaches which keeps what it says it has.
	fastSync = 10 * time.Microsecond
)

// disk measures what one sync costs where the journal is, since no message is told before one.
func (r *Report) disk(ctx context.Context, dir string) {
	times, err := measureSync(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		r.skip("disk", "", "there is no journal")
		return
	}
	if err != nil {
		r.fail("disk", "", err)
		return
	}
	median := times[len(times)/2]
	text := fmt.Sprintf("fdatasync takes %v, nine of ten between %v and %v (%d of %d KiB)",
		shortTime(median), shortTime(times[len(times)/20]), shortTime(times[len(times)-1-len(times)/20]), len(times), blockBytes>>10)
	switch {
	case median > slowSync:
		r.fail("disk", "", &node.Refusal{
			Reason: wire.ReasonCheckFailed, Text: text + ", and every message waits for one",
			Next: node.Advice("move the folder to a faster disk, or find what else keeps this one busy"),
		})
	case median < fastSync:
		r.ok("disk", "", "%s; that is memory and not a disk, or one that says it is done before it is: a power cut may lose what was told", text)
	default:
		r.ok("disk", "", "%s", text)
	}
}

// measureSync returns the times of some syncs in a folder, ascending.
func measureSync(ctx context.Context, dir string) (times []time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, blockBytes)
	for range syncs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		begun := time.Now()
		if err := syncData(f); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	return times, nil
}

// shortTime is a time with three digits or so.
func shortTime(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Nanosecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100)
		}
	}
	return d
}
