package hub

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// This file holds those parts of a snapshot that are about who is trusted; the
// fields stand in snapshot.go.

// trusted collects the parts of a trust snapshot.
type trusted struct {
	peers    []federation.Peer
	revoked  []federation.RevokedPeer
	rejected []federation.RejectedPin
}

func (st *state) encodeTrust(b *fields) {
	for i := range st.ceremony.invites {
		b.message(12, st.ceremony.invites[i].encode)
	}
	for i := range st.ceremony.pending {
		b.message(13, func(m *fields) { encodePending(m, &st.ceremony.pending[i]) })
	}
	for _, r := range st.trust.Revoked() {
		b.message(14, func(m *fields) {
			m.message(1, func(m *fields) { encodePeer(m, &r.Peer) })
			m.text(2, r.RevokedBy)
			m.text(3, r.RevokedUser)
			m.text(4, r.Why)
			m.num(5, uint64(r.RevokedUS))
		})
	}
	for _, r := range st.trust.Rejected() {
		b.message(15, func(m *fields) {
			m.text(1, string(r.Hub))
			m.bytes(2, r.Pin[:])
			m.text(3, r.By)
			m.text(4, r.User)
			m.num(5, uint64(r.AtUS))
			for _, endpoint := range r.Endpoints {
				m.text(6, endpoint)
			}
			m.some(7, r.Invite)
		})
	}
}

func encodePeer(m *fields, p *federation.Peer) {
	m.text(1, string(p.Hub))
	for _, endpoint := range p.Endpoints {
		m.text(2, endpoint)
	}
	for _, pin := range p.Pins {
		m.bytes(3, pin[:])
	}
	for _, pattern := range p.MayReach {
		m.text(4, pattern.String())
	}
	m.text(5, p.By)
	m.text(6, p.User)
	m.num(7, uint64(p.AddedUS))
	m.some(8, p.Invite)
}

func (i *invite) encode(m *fields) {
	m.text(1, i.id)
	m.bytes(2, i.hash[:])
	m.text(3, i.by)
	m.text(4, i.user)
	m.num(5, uint64(i.createdUS))
	m.num(6, uint64(i.expiresUS))
	m.bytes(7, i.usedBy[:])
	m.some(8, []byte(i.usedByHub))
	if i.withdrawn {
		m.flag(9, true)
	}
}

func encodePending(m *fields, p *federation.Pending) {
	m.text(1, string(p.Hub))
	m.bytes(2, p.Pin[:])
	for _, endpoint := range p.Endpoints {
		m.text(3, endpoint)
	}
	m.text(4, p.Host)
	m.flag(5, p.Joined)
	m.flag(6, p.Invited)
	m.text(7, p.InviteID)
	m.some(8, p.Invite)
	m.num(9, uint64(p.FirstUS))
	m.num(10, uint64(p.LastUS))
	m.num(11, uint64(p.ExpiresUS))
	m.num(12, p.Times)
}

func (t *trusted) decodePeer(b []byte) error {
	p, err := decodePeer(b)
	t.peers = append(t.peers, p)
	return err
}

func decodePeer(b []byte) (federation.Peer, error) {
	var p federation.Peer
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			p.Hub = wire.HubID(v.text())
		case 2:
			p.Endpoints = append(p.Endpoints, v.text())
		case 3:
			var pin [32]byte
			copy(pin[:], v.raw)
			p.Pins = append(p.Pins, pin)
		case 4:
			pattern, err := wire.ParsePattern(v.text())
			if err != nil {
				return errHotState
			}
			p.MayReach = append(p.MayReach, pattern)
		case 5:
			p.By = v.text()
		case 6:
			p.User = v.text()
		case 7:
			p.AddedUS = int64(v.num)
		case 8:
			p.Invite = bytes.Clone(v.raw)
		}
		return nil
	})
	return p, err
}

func (t *trusted) decodeRevoked(b []byte) error {
	var r federation.RevokedPeer
	err := eachField(b, func(n protowire.Number, v field) (err error) {
		switch n {
		case 1:
			r.Peer, err = decodePeer(v.raw)
		case 2:
			r.RevokedBy = v.text()
		case 3:
			r.RevokedUser = v.text()
		case 4:
			r.Why = v.text()
		case 5:
			r.RevokedUS = int64(v.num)
		}
		return err
	})
	t.revoked = append(t.revoked, r)
	return err
}

func (t *trusted) decodeRejected(b []byte) error {
	var r federation.RejectedPin
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			r.Hub = wire.HubID(v.text())
		case 2:
			copy(r.Pin[:], v.raw)
		case 3:
			r.By = v.text()
		case 4:
			r.User = v.text()
		case 5:
			r.AtUS = int64(v.num)
		case 6:
			r.Endpoints = append(r.Endpoints, v.text())
		case 7:
			r.Invite = bytes.Clone(v.raw)
		}
		return nil
	})
	t.rejected = append(t.rejected, r)
	return err
}

func (c *ceremony) decodeInvite(b []byte) error {
	var i invite
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			i.id = v.text()
		case 2:
			copy(i.hash[:], v.raw)
		case 3:
			i.by = v.text()
		case 4:
			i.user = v.text()
		case 5:
			i.createdUS = int64(v.num)
		case 6:
			i.expiresUS = int64(v.num)
		case 7:
			copy(i.usedBy[:], v.raw)
		case 8:
			i.usedByHub = wire.HubID(v.text())
		case 9:
			i.withdrawn = v.num == 1
		}
		return nil
	})
	c.invites = append(c.invites, i)
	return err
}

func (c *ceremony) decodePending(b []byte) error {
	var p federation.Pending
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			p.Hub = wire.HubID(v.text())
		case 2:
			copy(p.Pin[:], v.raw)
		case 3:
			p.Endpoints = append(p.Endpoints, v.text())
		case 4:
			p.Host = v.text()
		case 5:
			p.Joined = v.num == 1
		case 6:
			p.Invited = v.num == 1
		case 7:
			p.InviteID = v.text()
		case 8:
			p.Invite = bytes.Clone(v.raw)
		case 9:
			p.FirstUS = int64(v.num)
		case 10:
			p.LastUS = int64(v.num)
		case 11:
			p.ExpiresUS = int64(v.num)
		case 12:
			p.Times = v.num
		}
		return nil
	})
	c.pending = append(c.pending, p)
	return err
}
