package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// stopAt is a hook whose n-th call fails, 0 for none; calls counts them.
func stopAt(n int, err error, calls *int) func(string) error {
	return func(string) error {
		if *calls++; *calls == n {
			return err
		}
		return nil
	}
}

func initIn(dir string, hook func(string) error) (Made, error) {
	return Init(InitOptions{Dir: dir, Hub: "hub.example", Addresses: Addresses{Agents: "127.0.0.1:0", Links: "127.0.0.1:0"}, Hook: hook})
}

// initHits is how often an Init that nothing stops calls its hook.
func initHits(t *testing.T) int {
	t.Helper()
	hits := 0
	if _, err := initIn(t.TempDir(), stopAt(0, nil, &hits)); err != nil {
		t.Fatal(err)
	}
	if least := len(certs.Points()) + len(Points()); hits <= least {
		t.Fatalf("%d hits; key and settings alone have %d", hits, least)
	}
	return hits
}

// TestInitInterrupted ends Init at every fail-point it passes. The same Init again finishes the folder, with the key that
// was there.
func TestInitInterrupted(t *testing.T) {
	crash := errors.New("crash")
	for n := range initHits(t) + 1 {
		dir, calls := filepath.Join(t.TempDir(), "above", "n"), 0
		if _, err := initIn(dir, stopAt(n, crash, &calls)); err == nil && !Initialised(dir) {
			t.Fatalf("stopped at hit %d: done, and unfinished", n)
		}
		repeat(t, n, dir)
	}
}

func repeat(t *testing.T, n int, dir string) {
	t.Helper()
	left, lerr := certs.Load(dir)
	whole := Initialised(dir)
	if !whole {
		if _, err := Open(Options{Dir: dir}); ReasonOf(err) != wire.ReasonStoreMissing {
			t.Errorf("stopped at hit %d: opening the unfinished folder says %v", n, err)
		}
	}
	again, err := initIn(dir, nil)
	if whole != (ReasonOf(err) == wire.ReasonAlreadyInitialised) || (!whole && err != nil) {
		t.Fatalf("stopped at hit %d: finished is %v, and init again says %v", n, whole, err)
	}
	if !whole && lerr == nil && left.Pin().String() != again.Pin {
		t.Errorf("stopped at hit %d: another pin", n)
	}
	node, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatalf("stopped at hit %d: %v", n, err)
	}
	if err := node.Close(); err != nil {
		t.Errorf("stopped at hit %d: %v", n, err)
	}
}

// TestInitDisk: a full disk is named as such wherever it shows, and Init can be repeated.
func TestInitDisk(t *testing.T) {
	for n := range initHits(t) + 1 {
		dir, calls := filepath.Join(t.TempDir(), "n"), 0
		_, err := initIn(dir, stopAt(n, &fs.PathError{Op: "write", Path: filepath.Join(dir, "file"), Err: syscall.ENOSPC}, &calls))
		if err == nil {
			continue // no fault, or in what closing does after everything was said
		}
		r := Explain(err)
		if r.Reason != wire.ReasonDiskFailed || !strings.Contains(r.Text, dir) || !strings.Contains(r.Text, syscall.ENOSPC.Error()) || !strings.Contains(r.Next.String(), dir) {
			t.Errorf("at hit %d: %+v", n, r)
		}
		if Initialised(dir) {
			continue
		}
		if _, err := initIn(dir, nil); err != nil {
			t.Errorf("after hit %d: %v", n, err)
		}
	}
}

// TestDiskErrors: an error that names a path is told with it, any other with the folder.
func TestDiskErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		path string
	}{
		{&fs.PathError{Path: "/f/a", Err: syscall.ENOSPC}, "/f/a"},
		{&os.LinkError{Old: "/f/a.new", New: "/f/a", Err: syscall.EROFS}, "/f/a"},
		{syscall.EDQUOT, "/f"},
		{&os.SyscallError{Syscall: "fsync", Err: syscall.EIO}, "/f"},
	} {
		if r := fileRefusal("/f", c.err); r == nil || !strings.HasPrefix(r.Text, c.path+" cannot be written: ") || r.Next == (Next{}) {
			t.Errorf("%v: %+v", c.err, r)
		}
	}
	if r := fileRefusal("/f", syscall.EINVAL); r != nil {
		t.Errorf("EINVAL: %+v", r)
	}
}

// TestSettingsCutShort: whatever beginning of fleet.yaml is left, it is read as whole, or told apart and put back with the
// same key.
func TestSettingsCutShort(t *testing.T) {
	dir := t.TempDir()
	first := made(t, dir)
	path := filepath.Join(dir, ConfigFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := 0
	for _, tail := range []string{"", strings.Repeat("\x00", 512)} {
		for size := range text {
			left := string(text[:size]) + tail
			if _, _, err := parseConfig(dir, []byte(left), nil, nil); err == nil {
				continue
			}
			cut++
			if !unfinished(dir, left) {
				t.Fatalf("%q counts as somebody's settings", left)
			}
		}
	}
	if cut < 500 {
		t.Errorf("only %d beginnings were of no use", cut)
	}
	for _, left := range []string{"", "\n", strings.Repeat("\x00", len(text)), string(text[:200]), "hub: 'hub.exa"} {
		putBack(t, first, left)
	}
}

func putBack(t *testing.T, first Made, left string) {
	t.Helper()
	path := filepath.Join(first.Dir, ConfigFile)
	if strings.HasPrefix(left, "hub: ") {
		left = strings.SplitN(configText, "hub: ", 2)[0] + left
	}
	if err := os.WriteFile(path, []byte(left), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Dir: first.Dir})
	r := Explain(err)
	if r.Reason != wire.ReasonInvalidConfig || !strings.Contains(r.Text, "cut short") || r.Next.String() != "fleet init --hub hub.example" {
		t.Errorf("%q: %+v", left, r)
	}
	if again, err := initIn(first.Dir, nil); err != nil || again.Pin != first.Pin {
		t.Errorf("%q: %+v, %v", left, again, err)
	}
}

// TestOwnSettingsStay: what somebody wrote by hand is never taken for a leftover, broken or not.
func TestOwnSettingsStay(t *testing.T) {
	for text, reason := range map[string]wire.Reason{
		"hub: [\n": wire.ReasonInvalidConfig, "agents: x\n": wire.ReasonInvalidConfig, "# nothing\n": wire.ReasonInvalidConfig,
		"hub: hub.example\n": wire.ReasonAlreadyInitialised,
	} {
		dir := t.TempDir()
		made(t, dir)
		path := filepath.Join(dir, ConfigFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := initIn(dir, nil)
		got, rerr := os.ReadFile(path)
		if ReasonOf(err) != reason || rerr != nil || string(got) != text {
			t.Errorf("%q: %v, and now it is %q, %v", text, err, got, rerr)
		}
	}
}

// TestKeepAddressesInterrupted: the old settings or the new ones, and a leftover is in nobody's way.
func TestKeepAddressesInterrupted(t *testing.T) {
	crash := errors.New("crash")
	for n, point := range Points() {
		dir := configDir(t, "hub: h\nagents: '127.0.0.1:1'\n")
		var passed []string
		err := KeepAddresses(dir, Addresses{Agents: "127.0.0.1:9"}, func(p string) error {
			if passed = append(passed, p); p == point {
				return crash
			}
			return nil
		})
		if !errors.Is(err, crash) || !slices.Equal(passed, Points()[:n+1]) {
			t.Errorf("%s: %v after %v", point, err, passed)
		}
		want := "127.0.0.1:1"
		if n >= slices.Index(Points(), PointSettingsRenamed) {
			want = "127.0.0.1:9"
		}
		if cfg, _, err := LoadConfig(dir, nil, nil); err != nil || cfg.Agents != want {
			t.Errorf("%s: %+v, %v", point, cfg, err)
		}
		if err := KeepAddresses(dir, Addresses{Agents: "127.0.0.1:8"}, nil); err != nil {
			t.Errorf("after %s: %v", point, err)
		}
	}
}
