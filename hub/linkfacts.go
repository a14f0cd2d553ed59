package hub

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"fleetrelay/federation"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// Agreed is the profile that a link to a peer has by the word of both sides. It
// holds until another one is agreed on, also while there is no link.
type Agreed struct {
	Number  uint64 // of this peer's profiles, from 1
	Profile federation.Profile
}

// Backoff is when a peer that refused to link, or was refused, is tried next.
// The zero Backoff waits for nothing.
type Backoff struct {
	Attempts uint64 // refused since the last link that settled
	Reason   wire.Reason
	NextUS   int64 // Unix microseconds
	// RevokedUS is when the peer last said that it revoked its approval of this hub,
	// 0 if a link has been up since.
	RevokedUS int64
}

func (b Backoff) record(peer wire.HubID) journal.LinkBackoff {
	return journal.LinkBackoff{
		Peer: string(peer), Attempts: b.Attempts, Reason: string(b.Reason), NextUS: b.NextUS, RevokedUS: b.RevokedUS,
	}
}

func backoffOf(r *journal.LinkBackoff) Backoff {
	return Backoff{Attempts: r.Attempts, Reason: wire.Reason(r.Reason), NextUS: r.NextUS, RevokedUS: r.RevokedUS}
}

// linkFacts is what is durable about the link to a peer, beside its lanes.
type linkFacts struct {
	agreed  Agreed
	backoff Backoff
	lane    laneFacts
}

// Profile is the latest profile agreed on with a peer; Number 0 if there was
// none.
func (h *Hub) Profile(peer wire.HubID) Agreed { return h.published.lane(peer).facts.agreed }

// Backoff is what the node was waiting for when it last tried a peer.
func (h *Hub) Backoff(peer wire.HubID) Backoff { return h.published.lane(peer).facts.backoff }

// ProfileAgreed takes what both sides of a link say it admits, and returns after
// the sync; at once when that is what is known already. From then on a chat that
// needs more is refused before it is stored.
func (h *Hub) ProfileAgreed(ctx context.Context, peer wire.HubID, p federation.Profile) error {
	if a := h.Profile(peer); a.Number > 0 && a.Profile == p {
		return nil
	}
	return h.ofPeer(ctx, peer, func(v *view, d *draft) error {
		d.add(v.now, profileRecord(peer, v.st.laneOf(peer).facts.agreed.Number+1, p))
		return nil
	})
}

// LinkBackoff takes when a peer is tried next, and returns after the sync; at
// once when nothing changes.
func (h *Hub) LinkBackoff(ctx context.Context, peer wire.HubID, b Backoff) error {
	if h.Backoff(peer) == b {
		return nil
	}
	return h.ofPeer(ctx, peer, func(v *view, d *draft) error {
		d.add(v.now, b.record(peer))
		return nil
	})
}

// ofPeer runs a wish of the link to a peer through the core, in the order of what
// came from that peer, and waits for its sync. A peer that is not approved any
// more gets unknown_peer, so that the journal keeps nothing of strangers.
func (h *Hub) ofPeer(ctx context.Context, peer wire.HubID, run func(v *view, d *draft) error) error {
	approved := func(v *view, d *draft) error {
		if _, ok := v.st.trust.Peer(peer); !ok {
			return &Error{Reason: wire.ReasonUnknownPeer, Text: fmt.Sprintf("%s is not an approved peer", peer)}
		}
		return run(v, d)
	}
	c := &operatorCommand{run: approved, reply: make(chan error, 1)}
	if err := h.in.push(ctx, h.laneSource(peer), c); err != nil {
		return err
	}
	return h.await(ctx, c.reply)
}

// beyondProfile is why a chat does not fit what the link to its hub admits, ""
// if it does or no profile was agreed on yet.
func (st *state) beyondProfile(to wire.HubID, body int) string {
	a := st.laneOf(to).facts.agreed
	switch {
	case a.Number == 0:
		return ""
	case !a.Profile.Chat:
		return fmt.Sprintf("The link to %s admits no messages (chat).", to)
	case uint64(body) > a.Profile.MaxBodyBytes:
		return fmt.Sprintf("The link to %s admits messages of %d bytes (max_body_bytes); this one has %d.",
			to, a.Profile.MaxBodyBytes, body)
	}
	return ""
}

func profileRecord(peer wire.HubID, number uint64, p federation.Profile) journal.ProfileAgreed {
	return journal.ProfileAgreed{
		Peer: string(peer), Number: number, Version: uint64(p.Version), Chat: p.Chat, Receipts: uint64(p.Receipts),
		Roster: p.Roster, MaxBodyBytes: p.MaxBodyBytes, MaxFrameBytes: p.MaxFrameBytes, MaxHops: p.MaxHops,
	}
}

func agreedOf(r *journal.ProfileAgreed) Agreed {
	return Agreed{Number: r.Number, Profile: federation.Profile{Version: int(r.Version), Ceiling: federation.Ceiling{
		Chat: r.Chat, Receipts: federation.Receipts(r.Receipts), Roster: r.Roster,
		MaxBodyBytes: r.MaxBodyBytes, MaxFrameBytes: r.MaxFrameBytes, MaxHops: r.MaxHops,
	}}}
}

// profileAgreed and linkBackoff fold the two events into the lane.
func (st *state) profileAgreed(r *journal.ProfileAgreed) *lane {
	l := st.lane(wire.HubID(r.Peer))
	l.facts.agreed = agreedOf(r)
	return l
}

func (st *state) linkBackoff(r *journal.LinkBackoff) *lane {
	l := st.lane(wire.HubID(r.Peer))
	l.facts.backoff = backoffOf(r)
	return l
}

// encode writes the facts as they stand in their events, without the peer, so
// that there is one form of each: 1 profile agreed, 2 backoff, 3 what reconciling left
// behind. Nothing for facts that are not there.
func (f *linkFacts) encode(m *fields) {
	if f.agreed.Number > 0 {
		m.bytes(1, profileRecord("", f.agreed.Number, f.agreed.Profile).Append(nil))
	}
	if b := f.backoff; b != (Backoff{}) {
		m.bytes(2, b.record("").Append(nil))
	}
	if f.lane != (laneFacts{}) {
		m.message(3, f.lane.encode)
	}
}

// encode writes 1 epoch number, 2 epoch id, 3 base, 4 base hash, 5 adopts, 6
// resumes, 7 deaf.
func (f *laneFacts) encode(m *fields) {
	m.num(1, f.out.Number)
	m.bytes(2, f.out.ID[:])
	m.num(3, f.out.Base)
	m.bytes(4, f.out.BaseHash[:])
	m.num(5, flagBit(f.adopts))
	m.num(6, flagBit(f.resumes))
	m.num(7, f.deaf)
}

func flagBit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (f *laneFacts) decode(b []byte) error {
	return eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			f.out.Number = v.num
		case 2:
			copy(f.out.ID[:], v.raw)
		case 3:
			f.out.Base = v.num
		case 4:
			copy(f.out.BaseHash[:], v.raw)
		case 5:
			f.adopts = v.num == 1
		case 6:
			f.resumes = v.num == 1
		case 7:
			f.deaf = v.num
		}
		return nil
	})
}

func (f *linkFacts) decode(b []byte) error {
	err := eachField(b, func(n protowire.Number, v field) error {
		switch n {
		case 1:
			r, err := journal.ParseProfileAgreed(v.raw)
			f.agreed = agreedOf(&r)
			return err
		case 2:
			r, err := journal.ParseLinkBackoff(v.raw)
			f.backoff = backoffOf(&r)
			return err
		case 3:
			return f.lane.decode(v.raw)
		}
		return nil
	})
	if err != nil {
		return errHotState
	}
	return nil
}
