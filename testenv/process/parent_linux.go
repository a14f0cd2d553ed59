package process

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel end the child when the test's process is gone, so that a killed test leaves no node
// behind. The signal is bound to the thread that starts the child; Go's threads outlive a goroutine unless it locked
// its thread and ended, which no caller here does.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
