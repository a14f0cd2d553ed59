//go:build !linux

package node

import "net"

// socketUser is the node's own user where the kernel's answer is not read: only that user and root can open a
// socket with mode 0600.
func socketUser(net.Conn) string { return ProcessUser() }

// socketProcess is the process at the other end, which is not asked for here.
func socketProcess(net.Conn) int { return 0 }
