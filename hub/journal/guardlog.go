package journal

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logSuffix marks Pebble's write-ahead logs.
const logSuffix = ".log"

// guardLog is a write-ahead log. Where Pebble cannot create, write or close one while it changes over to the next, it
// panics with a lock released twice, which ends the process past every recover. So the store stops and Pebble is told
// that all went well, as with guardDir. What makes that safe: the store has failed before the lie is told, nothing is
// written after that, and Wait asks for the failure after Pebble says that a batch is synced.
type guardLog struct{ guardFile } // File is nil when the log could not be created

func (f guardFS) log(open func() (vfs.File, error)) (vfs.File, error) {
	file, err := f.file(open)
	if err == nil {
		return guardLog{file.(guardFile)}, nil
	}
	if f.g.readOnly.Load() {
		return nil, err
	}
	f.g.fail(failed(fmt.Errorf("create log: %w", err)))
	return guardLog{guardFile{nil, f.g}}, nil
}

func isLog(name string) bool { return strings.HasSuffix(name, logSuffix) }

func (f guardLog) lie(step string, err error) {
	if err != nil {
		f.g.fail(failed(fmt.Errorf("%s log: %w", step, err)))
	}
}

func (f guardLog) Write(p []byte) (int, error) {
	_, err := f.guardFile.Write(p)
	f.lie("write", err)
	return len(p), nil
}

func (f guardLog) Sync() error {
	f.lie("sync", f.guardFile.Sync())
	return nil
}

func (f guardLog) SyncData() error {
	f.lie("sync", f.guardFile.SyncData())
	return nil
}

func (f guardLog) SyncTo(n int64) (full bool, err error) {
	full, err = f.guardFile.SyncTo(n)
	f.lie("sync", err)
	return full && err == nil, nil
}

func (f guardLog) Preallocate(off, n int64) error {
	f.lie("preallocate", f.guardFile.Preallocate(off, n))
	return nil
}

func (f guardLog) Close() error {
	if f.File != nil {
		f.lie("close", f.File.Close())
	}
	return nil
}

func (f guardLog) Prefetch(off, n int64) error {
	if f.File == nil {
		return nil
	}
	return f.File.Prefetch(off, n)
}

func (f guardLog) Stat() (vfs.FileInfo, error) {
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

// noInfo describes a log that is not there.
type noInfo struct{}

func (noInfo) Name() string           { return "" }
func (noInfo) Size() int64            { return 0 }
func (noInfo) Mode() os.FileMode      { return 0 }
func (noInfo) ModTime() time.Time     { return time.Time{} }
func (noInfo) IsDir() bool            { return false }
func (noInfo) Sys() any               { return nil }
func (noInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }

func (f guardLog) Fd() uintptr {
	if f.File == nil {
		return vfs.InvalidFd
	}
	return f.File.Fd()
}
