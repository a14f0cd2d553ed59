package journal

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logSuffix marks Pebble's write-ahead logs, optionsSuffix its options until they are whole.
const (
	logSuffix     = ".log"
	optionsSuffix = ".dbtmp"
)

// lyingFile is a file whose failure Pebble does not survive: it panics in goroutines of its own, which ends the process
// past every recover. Where it cannot create, write or close a write-ahead log while it changes over to the next, it
// releases a lock twice; where it cannot write its options, it gives up opening while the statistics of what it has
// just flushed are still being gathered. So the store stops and Pebble is told that all went well, as with guardDir.
// What makes that safe: the store has failed before the lie is told, nothing is written after that, Open asks for the
// failure after Pebble is open, and Wait after Pebble says that a batch is synced.
type lyingFile struct {
	guardFile        // File is nil when it could not be created
	what      string // in the failure's text
}

func (f guardFS) lying(what string, open func() (vfs.File, error)) (vfs.File, error) {
	file, err := f.file(open)
	if err == nil {
		return lyingFile{file.(guardFile), what}, nil
	}
	if f.g.refusesHealthy() {
		return nil, err
	}
	f.g.fail(failed(fmt.Errorf("create %s: %w", what, err)))
	return lyingFile{guardFile{nil, f.g}, what}, nil
}

func isLog(name string) bool { return strings.HasSuffix(name, logSuffix) }

func isOptions(name string) bool { return strings.HasSuffix(name, optionsSuffix) }

func (f lyingFile) lie(step string, err error) {
	if err != nil {
		f.g.fail(failed(fmt.Errorf("%s %s: %w", step, f.what, err)))
	}
}

func (f lyingFile) Write(p []byte) (int, error) {
	_, err := f.guardFile.Write(p)
	f.lie("write", err)
	return len(p), nil
}

func (f lyingFile) Sync() error {
	f.lie("sync", f.guardFile.Sync())
	return nil
}

func (f lyingFile) SyncData() error {
	f.lie("sync", f.guardFile.SyncData())
	return nil
}

func (f lyingFile) SyncTo(n int64) (full bool, err error) {
	full, err = f.guardFile.SyncTo(n)
	f.lie("sync", err)
	return full && err == nil, nil
}

func (f lyingFile) Preallocate(off, n int64) error {
	f.lie("preallocate", f.guardFile.Preallocate(off, n))
	return nil
}

func (f lyingFile) Close() error {
	if f.File != nil {
		f.lie("close", f.File.Close())
	}
	return nil
}

func (f lyingFile) Prefetch(off, n int64) error {
	if f.File == nil {
		return nil
	}
	return f.File.Prefetch(off, n)
}

func (f lyingFile) Stat() (vfs.FileInfo, error) {
	if f.File == nil {
		return noInfo{}, nil
	}
	info, err := f.File.Stat()
	if err != nil {
		f.lie("stat", err)
		return noInfo{}, nil
	}
	return info, nil
}

// noInfo describes a file that is not there.
type noInfo struct{}

func (noInfo) Name() string           { return "" }
func (noInfo) Size() int64            { return 0 }
func (noInfo) Mode() os.FileMode      { return 0 }
func (noInfo) ModTime() time.Time     { return time.Time{} }
func (noInfo) IsDir() bool            { return false }
func (noInfo) Sys() any               { return nil }
func (noInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }

func (f lyingFile) Fd() uintptr {
	if f.File == nil {
		return vfs.InvalidFd
	}
	return f.File.Fd()
}
