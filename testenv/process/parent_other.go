//go:build !linux

package process

import "os/exec"

// dieWithParent exists on Linux only.
func dieWithParent(*exec.Cmd) {}
