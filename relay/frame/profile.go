package frame

import "fleetrelay/hub/wire"

// Profile says what its sender takes the link to admit. Records flow only between two sides that say the same.
type Profile struct {
	Digest [32]byte // of a federation.Profile
}

// Append appends the whole frame.
func (p *Profile) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(appendPrefix(dst), `{"type":"profile","digest":`...)
	dst = appendHex(dst, p.Digest[:])
	return endHeader(append(dst, '}'), start, 0)
}

// ParseProfile reads a profile.
func ParseProfile(f Frame) (p Profile, err error) {
	if f.Type != wire.LinkProfile {
		return Profile{}, protocolError("%s is not a profile", f.Type)
	}
	in := fields{obj: f.header}
	in.hexTo(p.Digest[:], "digest")
	in.only(2)
	return p, in.err
}
