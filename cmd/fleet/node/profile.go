package node

import (
	"encoding/hex"

	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/relay"
)

// agreedProfile is the profile last agreed on, nil if there was none.
func agreedProfile(a hub.Agreed) *Profile {
	if a.Number == 0 {
		return nil
	}
	p := profileOf(a.Profile, a.Profile.Ceiling, a.Profile.Ceiling)
	for i := range p.Members {
		p.Members[i].Ours, p.Members[i].Theirs = "", ""
	}
	p.Number = a.Number
	return p
}

// liveProfile is what this side takes a link to admit; before is the one last agreed on, nil for none.
func liveProfile(l *relay.LinkStatus, before *Profile) *Profile {
	p := profileOf(*l.Profile, *l.Ours, *l.Theirs)
	p.Unknown = l.Unknown
	if before != nil && before.Digest == p.Digest {
		p.Number = before.Number
	}
	return p
}

func profileOf(p federation.Profile, ours, theirs federation.Ceiling) *Profile {
	digest := p.Digest()
	out := &Profile{RelayVersion: p.Version, Digest: hex.EncodeToString(digest[:])}
	for _, m := range federation.Explain(ours, theirs) {
		out.Members = append(out.Members, ProfileMember(m))
	}
	return out
}
