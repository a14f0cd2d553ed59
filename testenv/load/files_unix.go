//go:build unix

package load

import "syscall"

// openFiles is how many files this process may have open, and so each of its children: Go has raised the soft limit to
// the hard one already.
func openFiles() (uint64, bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
