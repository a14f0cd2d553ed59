package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// AdminSocket is the name of the admin socket in a node's folder.
const AdminSocket = "admin.sock"

// maxSocketPath is what fits a sockaddr_un on the smallest common system.
const maxSocketPath = 100

// listenAdmin binds the admin socket, 0600 from its first moment: the folder is made private first. A socket
// nobody answers is what a killed node left; one that answers means the node runs.
func listenAdmin(dir string) (net.Listener, error) {
	var l net.Listener
	err := atShortPath(dir, func(path string) error {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		ul, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		// The path may have been the short one; removal is done by the node with the real one.
		ul.SetUnlinkOnClose(false)
		l = ul
		return os.Chmod(path, 0o600)
	})
	if err != nil && l != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, err
}

// dialAdmin connects to a running node. errNotRunning when nobody answers.
func dialAdmin(ctx context.Context, dir string) (net.Conn, error) {
	var c net.Conn
	err := atShortPath(dir, func(path string) error {
		var d net.Dialer
		var err error
		c, err = d.DialContext(ctx, "unix", path)
		return err
	})
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%w: %v", errNotRunning, err)
	}
	return c, err
}

// errNotRunning says that nobody serves the folder's admin socket.
var errNotRunning = errors.New("node: not running")

// atShortPath hands use a path to the folder's admin socket that fits a socket address. A deep folder is reached
// through a link in the temporary folder, which is gone again when use returns.
func atShortPath(dir string, use func(path string) error) error {
	path, err := filepath.Abs(filepath.Join(dir, AdminSocket))
	if err != nil {
		return err
	}
	if len(path) <= maxSocketPath {
		return use(path)
	}
	temp, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	link := filepath.Join(temp, "d")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return errors.Join(use(filepath.Join(link, AdminSocket)), os.RemoveAll(temp))
}
