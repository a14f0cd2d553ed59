package crashfs

import (
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A writer that tells before it syncs is found at one of the cuts; one that syncs
// first is not.
func TestCutsFindWhatWasToldTooEarly(t *testing.T) {
	for name, early := range map[string]bool{"told before the sync": true, "told after the sync": false} {
		mem := vfs.NewCrashableMem()
		var told atomic.Int64
		c := New(mem, rand.New(rand.NewPCG(3, 4)), func() int { return int(told.Load()) })
		write(t, c.FS(), &told, early)
		lost := 0
		for _, cut := range c.Cuts() {
			if held(t, cut.FS) < cut.Mark {
				lost++
			}
		}
		if (lost > 0) != early {
			t.Errorf("%s: %d of %d cuts lost something", name, lost, len(c.Cuts()))
		}
	}
}

// write appends 40 bytes, one at a time, each synced and told.
func write(t *testing.T, fs vfs.FS, told *atomic.Int64, early bool) {
	t.Helper()
	f, err := fs.Create("log", vfs.WriteCategoryUnspecified)
	must(t, err)
	dir, err := fs.OpenDir("")
	must(t, err)
	must(t, dir.Sync())
	for range 40 {
		_, err := f.Write([]byte{1})
		must(t, err)
		if early {
			told.Add(1)
		}
		must(t, f.Sync())
		if !early {
			told.Add(1)
		}
	}
	must(t, f.Close())
}

// held is how many bytes a cut left.
func held(t *testing.T, fs *vfs.MemFS) int {
	t.Helper()
	f, err := fs.Open("log")
	if err != nil {
		return 0 // cut before the file was durable
	}
	b, err := io.ReadAll(f)
	must(t, err)
	must(t, f.Close())
	return len(b)
}

// A killed process loses nothing that it has written.
func TestKilled(t *testing.T) {
	mem := vfs.NewCrashableMem()
	f, err := mem.Create("log", vfs.WriteCategoryUnspecified)
	must(t, err)
	_, err = f.Write([]byte{1, 2, 3})
	must(t, err)
	if n := held(t, Killed(mem)); n != 3 {
		t.Fatalf("%d bytes left", n)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
