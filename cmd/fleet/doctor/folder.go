package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fleetrelay/certs"
	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

// forOthers are the mode bits by which anybody but the owner gets at a file.
const forOthers fs.FileMode = 0o077

// folder holds that nobody else can look into the node's folder: the journal has every message.
func (r *Report) folder(dir string) {
	for _, part := range []struct {
		path  string
		must  bool
		chmod string
	}{{dir, true, "700"}, {filepath.Join(dir, node.AdminSocket), false, "600"}} {
		info, err := os.Stat(part.path)
		switch {
		case err != nil && !part.must:
			continue // it is there while the node runs
		case err != nil:
			r.fail("folder", "", err)
			return
		case info.Mode().Perm()&forOthers != 0:
			r.fail("folder", "", &node.Refusal{
				Reason: wire.ReasonInvalidConfig, Text: fmt.Sprintf("%s is open to other users of this machine (mode %04o)", part.path, info.Mode().Perm()),
				Next: node.Chmod(part.chmod, part.path),
			})
			return
		}
	}
	r.ok("folder", "", "%s, closed to other users", dir)
}

// key loads the node's identity; nil if that failed.
func (r *Report) key(dir string) *certs.Identity {
	id, err := node.LoadIdentity(dir)
	if err != nil {
		r.fail("key", "", err)
		return nil
	}
	r.ok("key", "", "%s, closed to other users", id.Pin())
	return id
}
