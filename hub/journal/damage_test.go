package journal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/crashfs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// victim is a journal to damage, and the twin that knows what is in it.
type victim struct {
	name  string
	fs    *vfs.MemFS
	w     *world
	kinds map[string][]string // kind of file → paths
	opts  func(vfs.FS) Options
}

// newVictim runs the workload; a journal that is not closed is as a killed process leaves it.
func newVictim(t *testing.T, seed uint64, closed bool, opts func(vfs.FS) Options) *victim {
	t.Helper()
	mem := vfs.NewCrashableMem()
	v := &victim{name: fmt.Sprintf("closed=%v", closed), w: newWorld(seed), kinds: map[string][]string{}, opts: opts}
	s, err := Open("j", opts(mem))
	if err != nil {
		t.Fatal(err)
	}
	if err := v.w.run(s, 250); err != nil {
		t.Fatal(err)
	}
	if !closed {
		v.fs = crashfs.Killed(mem)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if closed {
		v.fs = crashfs.Killed(mem)
	}
	v.list(t, "j")
	return v
}

func (v *victim) list(t *testing.T, dir string) {
	names, err := v.fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := v.fs.PathJoin(dir, name)
		if info, err := v.fs.Stat(path); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			v.list(t, path)
			continue
		}
		kind := fileKind(name)
		v.kinds[kind] = append(v.kinds[kind], path)
	}
}

func fileKind(name string) string {
	for _, part := range []string{".sst", ".log", "MANIFEST", "OPTIONS", "marker.manifest", "marker.format", "FORMAT", "HEAD", "LOCK"} {
		if strings.HasPrefix(name, part) || strings.HasSuffix(name, part) {
			return part
		}
	}
	return "other"
}

// damage is one flipped bit or one truncation; a file without content is removed instead.
func damage(t *testing.T, fs vfs.FS, path string, rng *rand.Rand) (what string) {
	t.Helper()
	data := readAll(t, fs, path)
	switch {
	case len(data) == 0:
		if err := errors.Join(fs.Remove(path), syncDir(fs, fs.PathDir(path))); err != nil {
			t.Fatal(err)
		}
		return "removed"
	case rng.IntN(3) == 0:
		n := rng.IntN(len(data))
		writeAll(t, fs, path, data[:n])
		return fmt.Sprintf("cut at %d of %d", n, len(data))
	}
	bit := rng.IntN(8 * len(data))
	data[bit/8] ^= 1 << (bit % 8)
	writeAll(t, fs, path, data)
	return fmt.Sprintf("bit %d of byte %d of %d", bit%8, bit/8, len(data))
}

func readAll(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

func writeAll(t *testing.T, fs vfs.FS, path string, data []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// verdict is what came of one damage; "SILENT" is the one that must not be.
func (v *victim) verdict(t *testing.T, fs *vfs.MemFS) string {
	t.Helper()
	before := crashfs.Killed(fs)
	report, verifyErr := Verify("j", v.opts(fs), nil)
	sameFiles(t, before, fs)
	reported := verifyErr != nil || !report.OK()
	openErr := v.w.reopen(v.opts(fs), len(v.w.states)-1)
	var silent *loss
	switch {
	case openErr == nil && !reported:
		return "recovered"
	case openErr == nil:
		return "recovered, reported by verify"
	case errors.As(openErr, &silent) && !reported:
		return "SILENT: " + silent.text
	case errors.As(openErr, &silent):
		return "reported by verify"
	case ReasonOf(openErr) == "":
		return fmt.Sprintf("SILENT: an error without a reason: %v", openErr)
	case !reported:
		return fmt.Sprintf("SILENT in verify: %v", openErr)
	case ReasonOf(openErr) == wire.ReasonJournalRewound || ReasonOf(openErr) == wire.ReasonJournalCorrupt:
		return "refused: " + string(ReasonOf(openErr))
	}
	return "refused: " + string(ReasonOf(openErr))
}

func sameFiles(t *testing.T, a, b *vfs.MemFS) {
	t.Helper()
	for _, dir := range []string{"j", "j/store"} {
		left, _ := a.List(dir)
		right, _ := b.List(dir)
		slices.Sort(left)
		slices.Sort(right)
		if !slices.Equal(left, right) && !slices.Contains(right, "LOCK") {
			t.Fatalf("Verify changed %s: %v to %v", dir, left, right)
		}
		for _, name := range left {
			if info, err := a.Stat(a.PathJoin(dir, name)); err != nil || info.IsDir() {
				continue
			}
			if string(readAll(t, a, a.PathJoin(dir, name))) != string(readAll(t, b, b.PathJoin(dir, name))) {
				t.Fatalf("Verify changed %s/%s", dir, name)
			}
		}
	}
}

// run damages the victim n times, spread over the kinds of file, and counts the outcomes.
func (v *victim) run(t *testing.T, seed uint64, n int, only ...string) (outcomes map[string]int, silent []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	kinds := slices.Sorted(maps.Keys(v.kinds))
	if len(only) > 0 {
		kinds = only
	}
	outcomes = map[string]int{}
	for i := range n {
		paths := v.kinds[kinds[i%len(kinds)]]
		path := paths[rng.IntN(len(paths))]
		fs := crashfs.Killed(v.fs)
		what := damage(t, fs, path, rng)
		verdict := v.verdict(t, fs)
		word, _, _ := strings.Cut(verdict, ":")
		if strings.HasPrefix(verdict, "SILENT") {
			silent = append(silent, fmt.Sprintf("%s: %s: %s", path, what, verdict))
			outcomes[word]++
			continue
		}
		outcomes[verdict]++
	}
	return outcomes, silent
}

// TestDamage flips bits and cuts files of every kind: everything is recovered, or refused or reported with a reason.
func TestDamage(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	n := 500
	if testing.Short() {
		n = 60
	}
	for _, closed := range []bool{true, false} {
		v := newVictim(t, seed, closed, smallOptions)
		outcomes, silent := v.run(t, seed, n)
		t.Logf("%s: %d kinds of file, %d damages: %v", v.name, len(v.kinds), n, outcomes)
		for _, s := range silent {
			t.Errorf("%s: %s", v.name, s)
		}
	}
}

// TestDamageCheckFindsSilentLoss shows that the check above is one: without the head slot's witness, the same damage
// to logs and manifests is silent, and an older format of the engine reads a flipped bit as the end of the log.
func TestDamageCheckFindsSilentLoss(t *testing.T) {
	t.Parallel()
	blind := func(fs vfs.FS) Options {
		o := smallOptions(fs)
		o.testing.noHeadCheck = true
		return o
	}
	old := func(fs vfs.FS) Options {
		o := blind(fs)
		o.testing.formatMajor = pebble.FormatWALSyncChunks - 1
		return o
	}
	for _, c := range []struct {
		name string
		opts func(vfs.FS) Options
	}{{"no head slot", blind}, {"no head slot, old engine format", old}} {
		v := newVictim(t, 1, false, c.opts)
		outcomes, silent := v.run(t, 1, 40, ".log")
		t.Logf("%s: %v", c.name, outcomes)
		if len(silent) == 0 {
			t.Errorf("%s: the check did not notice anything", c.name)
		}
	}
}
