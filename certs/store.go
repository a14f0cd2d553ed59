package certs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Names below a node's folder.
const (
	folder   = "identity"
	keyFile  = "key.pem"
	certFile = "cert.pem"
	// tempPattern makes a folder beside the final one, on the same file system.
	tempPattern = ".identity-*"
)

// Create makes a new identity for a hub in dir/identity and returns it. now is
// the instant the certificate starts from. hook, which may be nil, is called at
// every one of [Points].
//
// Both files are written and synced in a temporary folder that gets its final
// name by one rename, so that a crash leaves either no identity or a complete
// one. The errors wrap [ErrExists] if one is there already, [ErrHubID], or come
// from the file system. What an earlier crash left is removed on success.
func Create(dir, hubID string, now time.Time, hook func(point string) error) (*Identity, error) {
	if !validHubID(hubID) {
		return nil, fmt.Errorf("%w: %q", ErrHubID, hubID)
	}
	certPEM, keyPEM, err := generate(hubID, now)
	if err != nil {
		return nil, err
	}
	id, err := Parse(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	w := &writer{dir: dir, hook: hook}
	if err := w.store(certPEM, keyPEM); err != nil {
		return nil, err
	}
	return id, nil
}

// writer stores one identity; its hook stands between all steps.
type writer struct {
	dir  string
	hook func(string) error
}

func (w *writer) store(certPEM, keyPEM []byte) error {
	final := filepath.Join(w.dir, folder)
	if err := refuseExisting(final); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(w.dir, tempPattern) // mode 0700
	if err != nil {
		return fmt.Errorf("certs: create identity: %w", err)
	}
	if err := w.fill(temp, certPEM, keyPEM); err != nil {
		return err
	}
	if err := os.Rename(temp, final); err != nil {
		return renameError(final, err)
	}
	if err := w.at(PointRenamed); err != nil {
		return err
	}
	if err := syncDir(w.dir); err != nil {
		return err
	}
	removeLeftovers(w.dir)
	return w.at(PointDirSynced)
}

func (w *writer) fill(temp string, certPEM, keyPEM []byte) error {
	if err := w.at(PointTempDir); err != nil {
		return err
	}
	key := filepath.Join(temp, keyFile)
	if err := w.file(key, 0o600, keyPEM, PointKeyCreated, PointKeyWritten, PointKeySynced); err != nil {
		return err
	}
	cert := filepath.Join(temp, certFile)
	if err := w.file(cert, 0o644, certPEM, PointCertCreated, PointCertWritten, PointCertSynced); err != nil {
		return err
	}
	if err := syncDir(temp); err != nil {
		return err
	}
	return w.at(PointTempSynced)
}

func (w *writer) file(name string, mode fs.FileMode, data []byte, created, written, synced string) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("certs: create identity: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := w.at(created); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("certs: create identity: %w", err)
	}
	if err := w.at(written); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("certs: create identity: %w", err)
	}
	return w.at(synced)
}

func (w *writer) at(point string) error {
	if w.hook == nil {
		return nil
	}
	return w.hook(point)
}

// refuseExisting takes an empty folder out of the way, which holds nothing to
// lose, and refuses everything else.
func refuseExisting(final string) error {
	err := os.Remove(final)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrExists, final)
}

// renameError tells losing a race with another Create from a failing disk.
func renameError(final string, err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("%w: %s", ErrExists, final)
	}
	return fmt.Errorf("certs: create identity: %w", err)
}

// removeLeftovers deletes unfinished identities. Best effort: they are
// unreachable keys in folders only the owner may open.
func removeLeftovers(dir string) {
	names, err := filepath.Glob(filepath.Join(dir, tempPattern))
	if err != nil {
		return
	}
	for _, name := range names {
		_ = os.RemoveAll(name)
	}
}

func syncDir(name string) (err error) {
	d, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("certs: sync folder: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("certs: sync folder: %w", err)
	}
	return nil
}

// Load reads the identity of the node in dir. The errors wrap [ErrMissing],
// [ErrKeyTooOpen], [ErrDamaged], or come from the file system.
func Load(dir string) (*Identity, error) {
	keyPEM, err := readKey(filepath.Join(dir, folder, keyFile), 0o077)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if err != nil {
		return nil, err
	}
	certPEM, err := readCert(filepath.Join(dir, folder, certFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is missing beside the key", ErrDamaged, certFile)
	}
	if err != nil {
		return nil, fmt.Errorf("certs: load identity: %w", err)
	}
	id, err := Parse(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, folder), err)
	}
	return id, nil
}

// readCert reads a certificate file of bounded size.
func readCert(name string) (_ []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readBounded(f)
}

// readKey reads a key file whose mode has none of the forbidden bits. The mode
// is that of the opened file, so it cannot be exchanged between look and read.
func readKey(name string, forbidden fs.FileMode) (_ []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("certs: load key: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("certs: load key: %w", err)
	}
	if open := info.Mode().Perm() & forbidden; open != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o; chmod 600 it", ErrKeyTooOpen, name, info.Mode().Perm())
	}
	return readBounded(f)
}
