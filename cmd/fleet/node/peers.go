package node

import (
	"context"
	"strings"
	"sync"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay"
)

// peer describes one peer with its synced lanes and its link.
func (n *Node) peer(p federation.Peer) PeerStatus {
	lane := n.hub.LaneOut(p.Hub)
	row := PeerStatus{
		Hub: string(p.Hub), Endpoints: append([]string{}, p.Endpoints...), By: p.By, User: p.User, AddedUS: p.AddedUS,
		OutHead: lane.Head, OutAcked: lane.Acked, OutRefused: lane.Denied, In: n.hub.LaneIn(p.Hub).Seq,
	}
	row.Code = n.code(p.Hub, p.Pins...)
	for _, pin := range p.Pins {
		row.Pins = append(row.Pins, certs.Pin(pin).String())
	}
	row.MayReach = patternsText(p.MayReach)
	row.Profile = agreedProfile(n.hub.Profile(p.Hub))
	if s := n.serving.Load(); s != nil {
		for _, l := range s.relay.Links() {
			if l.Peer == p.Hub {
				row.link(&l)
			}
		}
	}
	return row
}

// link adds what the relay knows.
func (p *PeerStatus) link(l *relay.LinkStatus) {
	p.Link, p.LinkPath, p.LinkSince = string(l.State), l.Path, l.SinceUS
	p.RTTUS, p.ClockOffsetUS, p.HeldSeq = l.RTT.Microseconds(), l.ClockOffset.Microseconds(), l.Held
	if l.Profile != nil {
		p.Profile = liveProfile(l, p.Profile)
	}
	if l.State == relay.Up {
		return // why an earlier link ended says nothing about this one
	}
	p.LinkReason, p.LinkDetail, p.LinkRemote = string(l.LastReason), plainDetail(l.LastReason, l.LastDetail), l.Remote
	p.LinkAttempts, p.LinkNextUS, p.LinkRevokedUS = l.Attempts, l.NextUS, l.RevokedUS
}

// plainDetail is what was seen when a link failed, without the words of the layers it came through. Those of a TLS
// alert say nothing that the reason does not.
func plainDetail(reason wire.Reason, detail string) string {
	if at := strings.LastIndex(detail, string(reason)+": "); at >= 0 {
		detail = detail[at+len(reason)+2:]
	}
	if strings.HasSuffix(detail, string(reason)) || strings.Contains(detail, "CRYPTO_ERROR") || strings.Contains(detail, "tls: ") {
		return ""
	}
	return strings.TrimPrefix(detail, "transport: dial: ")
}

// maxCodes bounds the codes that are remembered: more than there can be peers who wait, at a millisecond each.
const maxCodes = 1024

// codes remembers codes, which are dear to compute on purpose. The zero value is empty.
type codes struct {
	mu    sync.Mutex
	known map[codeOf]string
}

type codeOf struct {
	hub wire.HubID
	pin federation.Pin
}

// code is what both sides of a peering compare, "" for a hub that names itself by no id.
func (n *Node) code(hubID wire.HubID, pins ...federation.Pin) string {
	if hubID == "" || len(pins) == 0 {
		return ""
	}
	of := codeOf{hubID, pins[0]}
	n.codes.mu.Lock()
	defer n.codes.mu.Unlock()
	if code, ok := n.codes.known[of]; ok {
		return code
	}
	if len(n.codes.known) >= maxCodes || n.codes.known == nil {
		n.codes.known = map[codeOf]string{}
	}
	code := federation.Code(wire.HubID(n.cfg.Hub), federation.Pin(n.identity.Pin()), hubID, pins[0])
	n.codes.known[of] = code
	return code
}

// known lists the hubs that were decided about.
func (n *Node) known(context.Context, Empty) (Known, error) {
	trust := n.hub.Trust()
	out := Known{Peers: []PeerStatus{}, Revoked: n.revoked(), Rejected: []Rejected{}}
	for _, p := range trust.Peers() {
		out.Peers = append(out.Peers, n.peer(p))
	}
	for _, r := range trust.Rejected() {
		out.Rejected = append(out.Rejected, n.rejected(r))
	}
	return out, nil
}

func (n *Node) revoked() []RevokedPeer {
	out := []RevokedPeer{}
	for _, r := range n.hub.Trust().Revoked() {
		out = append(out, n.revokedPeer(&r))
	}
	return out
}

func (n *Node) revokedPeer(r *federation.RevokedPeer) RevokedPeer {
	return RevokedPeer{PeerStatus: n.peer(r.Peer), RevokedBy: r.RevokedBy, RevokedUser: r.RevokedUser, Why: r.Why, RevokedUS: r.RevokedUS}
}

func (n *Node) rejected(r federation.RejectedPin) Rejected {
	return Rejected{
		Hub: string(r.Hub), Code: n.code(r.Hub, r.Pin), Pin: certs.Pin(r.Pin).String(), Endpoints: append([]string{}, r.Endpoints...),
		By: r.By, User: r.User, AtUS: r.AtUS,
	}
}

func patternsText(patterns []wire.Pattern) (text []string) {
	for _, p := range patterns {
		text = append(text, p.String())
	}
	return text
}
