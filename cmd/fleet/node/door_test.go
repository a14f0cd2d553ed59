package node

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"fleetrelay/testenv/process"
)

// TestAdminSocketComesBack: a node whose admin socket was removed can be administered again, each time, and leaves none
// behind when it stops.
func TestAdminSocketComesBack(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, AdminSocket)
	made(t, dir)
	t.Cleanup(func() { // runs after the node has stopped
		if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the stopped node left its socket: %v", err)
		}
	})
	serve(t, Options{Dir: dir})
	for range 2 {
		if err := os.Remove(socket); err != nil {
			t.Fatal(err)
		}
		err := process.Poll(t.Context(), func() error {
			c, err := Running(t.Context(), dir)
			if err != nil {
				return err
			}
			_, err = c.Status(t.Context())
			return errors.Join(err, c.Close())
		})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(socket); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	// A command that opens a stopped folder finds out that the node runs.
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	c, err := Connect(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Running {
		t.Error("the folder of a running node was opened")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestDoorLeavesOtherFoldersAlone: what took the folder's place may be another node's.
func TestDoorLeavesOtherFoldersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "n")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	folder, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var why error
	d := door{dir: dir, folder: folder, removed: func() {}, failed: func(err error) { why = err; cancel() }}
	l, err := d.again(ctx)
	if !errors.Is(err, http.ErrServerClosed) || l != nil || !errors.Is(why, errOtherFolder) {
		t.Errorf("%v, %v, %v", l, err, why)
	}
}

// TestDoorEndsWithItsServer: a server that fails by itself is not begun again.
func TestDoorEndsWithItsServer(t *testing.T) {
	dir := t.TempDir()
	l, err := listenAdmin(dir)
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no more files")
	err = door{dir: dir, removed: func() { t.Error("taken for removed") }}.keep(t.Context(), l, func(l net.Listener) error {
		return errors.Join(failure, l.Close())
	})
	if !errors.Is(err, failure) {
		t.Error(err)
	}
}
