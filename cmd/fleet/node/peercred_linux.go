package node

import (
	"net"
	"os/user"
	"strconv"
	"syscall"
)

// socketUser names the user at the other end of an admin connection, as the kernel knows it.
func socketUser(c net.Conn) string {
	cred := peerOf(c)
	if cred == nil {
		return ""
	}
	id := strconv.FormatUint(uint64(cred.Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "uid-" + id
}

// socketProcess is the process that listens at the other end of an admin connection, 0 if that is not known.
func socketProcess(c net.Conn) int {
	if cred := peerOf(c); cred != nil {
		return int(cred.Pid)
	}
	return 0
}

// peerOf is who is at the other end of an admin connection; nil if the kernel does not say.
func peerOf(c net.Conn) *syscall.Ucred {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return nil
	}
	var cred *syscall.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred, cerr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil || cerr != nil {
		return nil
	}
	return cred
}
