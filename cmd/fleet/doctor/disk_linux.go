package doctor

import (
	"os"
	"syscall"
)

// syncData is the call with which the journal makes its log durable.
func syncData(f *os.File) error {
	if err := syscall.Fdatasync(int(f.Fd())); err != nil {
		return os.NewSyscallError("fdatasync", err)
	}
	return nil
}
