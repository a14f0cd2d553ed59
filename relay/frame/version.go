package frame

import (
	"fmt"

	"fleetrelay/hub/wire"
)

// Version is a relay version; the package comment has the history.
type Version int

// The versions this build speaks.
const (
	OldestVersion Version = 1
	NewestVersion Version = 1
)

// Versions is a range of relay versions, both ends included.
type Versions struct{ Min, Max Version }

// Speaks is the range this build speaks, cut to newest when that is lower and not 0.
func Speaks(newest Version) Versions {
	if newest == 0 {
		newest = NewestVersion
	}
	return Versions{Min: OldestVersion, Max: min(newest, NewestVersion)}
}

// Choose returns the highest version in both ranges. Without one the error is an *Error with relay_version that names
// both ranges, ours first.
func (v Versions) Choose(theirs Versions) (Version, error) {
	best := min(v.Max, theirs.Max)
	if best < v.Min || best < theirs.Min {
		return 0, &Error{
			Reason: wire.ReasonRelayVersion,
			Detail: fmt.Sprintf("this hub speaks relay versions %v, the peer %v", v, theirs),
		}
	}
	return best, nil
}

func (v Versions) String() string { return fmt.Sprintf("%d..%d", v.Min, v.Max) }
