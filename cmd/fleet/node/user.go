package node

import (
	"os"
	"os/user"
	"strconv"
)

// ProcessUser names the user this process runs as.
func ProcessUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "uid-" + strconv.Itoa(os.Getuid())
}
