//go:build !linux

package doctor

import "os"

// syncData is the call with which the journal makes its log durable.
func syncData(f *os.File) error { return f.Sync() }
