//go:build unix

package node

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownerOf names the user who owns a path, or the nearest folder above it that can be looked at; "" if nobody can say.
func ownerOf(path string) string {
	for {
		if info, err := os.Stat(path); err == nil {
			st, ok := info.Sys().(*syscall.Stat_t)
			if !ok {
				return ""
			}
			id := strconv.FormatUint(uint64(st.Uid), 10)
			if u, err := user.LookupId(id); err == nil {
				return u.Username
			}
			return "uid-" + id
		}
		above := filepath.Dir(path)
		if above == path {
			return ""
		}
		path = above
	}
}
