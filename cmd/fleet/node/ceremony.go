package node

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// invite makes an invitation that names where this node is reached.
func (n *Node) invite(ctx context.Context, in InviteRequest) (Invite, error) {
	at := n.announced()
	if len(in.Endpoints) > 0 {
		at = Announced{Endpoints: in.Endpoints, Warning: outOfReach(in.Endpoints, "give --endpoint")}
	}
	if err := checkAnnounce(at.Endpoints); err != nil {
		return Invite{}, &Refusal{Reason: wire.ReasonInvalidAddress, Text: err.Error(), Next: Command("peer", "invite", "--help")}
	}
	if in.ExpiresS < 0 || in.ExpiresS > math.MaxInt64/int64(time.Second) {
		in.ExpiresS = math.MaxInt64 / int64(time.Second) // refused below, with the bound
	}
	inv, id, err := n.hub.Invite(ctx, hub.InviteRequest{
		By: in.By, User: userOf(ctx), Endpoints: at.Endpoints, Pin: federation.Pin(n.identity.Pin()), TTL: time.Duration(in.ExpiresS) * time.Second,
	})
	if err != nil {
		return Invite{}, err
	}
	return Invite{
		ID: id, Token: inv.Token(), Hub: string(inv.Hub), Pin: certs.Pin(inv.Pin).String(), Endpoints: inv.Endpoints,
		Warning: at.Warning, ExpiresUS: inv.ExpiresUS,
	}, nil
}

// invites lists the invitations of this node.
func (n *Node) invites(ctx context.Context, _ Empty) (InviteList, error) {
	out := InviteList{Invites: []InviteStatus{}}
	list, err := n.hub.Invites(ctx)
	for i := range list {
		out.Invites = append(out.Invites, inviteStatus(&list[i]))
	}
	return out, err
}

func inviteStatus(i *hub.InviteInfo) InviteStatus {
	row := InviteStatus{ID: i.ID, By: i.By, User: i.User, CreatedUS: i.CreatedUS, ExpiresUS: i.ExpiresUS, Open: i.Why == "", Ended: string(i.Why), Hub: string(i.Hub)}
	if i.UsedBy != (federation.Pin{}) {
		row.Pin = certs.Pin(i.UsedBy).String()
	}
	return row
}

// withdraw ends an open invitation.
func (n *Node) withdraw(ctx context.Context, in Withdrawal) (InviteStatus, error) {
	i, err := n.hub.WithdrawInvite(ctx, in.ID, in.By, userOf(ctx))
	return inviteStatus(&i), err
}

// join takes an invitation; the relay then calls the hub that made it.
func (n *Node) join(ctx context.Context, in JoinRequest) (Pending, error) {
	inv, err := federation.ParseToken(in.Token)
	if err != nil {
		return Pending{}, err
	}
	if inv.Hub == wire.HubID(n.cfg.Hub) {
		return Pending{}, &Refusal{Reason: wire.ReasonOwnHubID, Text: "the invitation is this hub's own", Next: Advice("give it to the other hub's administrator, who joins there")}
	}
	row, err := n.hub.Join(ctx, inv, userOf(ctx))
	if err != nil {
		r := *Explain(err)
		if r.Reason == wire.ReasonPeerRejected {
			r.Next = Command("peer", "approve", n.code(inv.Hub, inv.Pin), "--by", "NAME", "--may-reach", "PATTERN")
		}
		return Pending{}, &r
	}
	return n.pendingRow(row), nil
}

func (n *Node) pending(context.Context, Empty) (PendingList, error) {
	out := PendingList{Pending: n.waiting()}
	for _, row := range n.hub.Expired() {
		p := n.pendingRow(row)
		p.Expired = true
		out.Pending = append(out.Pending, p)
	}
	return out, nil
}

// waiting are the hubs that a decision can be made about.
func (n *Node) waiting() []Pending {
	rows := []Pending{}
	for _, row := range n.hub.Pending() {
		rows = append(rows, n.pendingRow(row))
	}
	return rows
}

func (n *Node) pendingRow(p federation.Pending) Pending {
	row := Pending{
		Hub: string(p.Hub), Code: n.code(p.Hub, p.Pin), Pin: certs.Pin(p.Pin).String(), Endpoints: append([]string{}, p.Endpoints...),
		Host: p.Host, Joined: p.Joined, Invited: p.Invited, InviteID: p.InviteID, Times: p.Times, FirstUS: p.FirstUS, LastUS: p.LastUS,
		ExpiresUS: p.ExpiresUS,
	}
	if s := n.serving.Load(); s != nil && p.Joined {
		for _, k := range s.relay.Knocks() {
			if k.Pin == p.Pin {
				row.Accepted, row.CallReason, row.CallDetail = k.Accepted, string(k.Reason), plainDetail(k.Reason, k.Detail)
				row.Calls, row.CallNextUS = k.Attempts, k.NextUS
			}
		}
	}
	return row
}

// keyOf finds the key that a fingerprint or a code means. A code is looked for among those who wait and those who were
// decided about; it was compared by whoever gives it.
func (n *Node) keyOf(text string) (federation.Pin, error) {
	if pin, err := certs.ParsePin(text); err == nil {
		return federation.Pin(pin), nil
	}
	code, ok := federation.ParseCode(text)
	if !ok {
		return federation.Pin{}, &Refusal{
			Reason: wire.ReasonInvalidPin, Text: fmt.Sprintf("%q is neither a fingerprint, sha256: and 64 hexadecimal digits, nor a code of 16 letters and digits", text),
			Next: Command("peer", "pending"),
		}
	}
	for _, p := range append(n.hub.Pending(), n.hub.Expired()...) {
		if n.code(p.Hub, p.Pin) == code {
			return p.Pin, nil
		}
	}
	trust := n.hub.Trust()
	decided := trust.Peers()
	for _, r := range trust.Revoked() {
		decided = append(decided, r.Peer)
	}
	for _, p := range decided {
		if n.code(p.Hub, p.Pins...) == code {
			return p.Pins[0], nil
		}
	}
	for _, r := range trust.Rejected() {
		if n.code(r.Hub, r.Pin) == code {
			return r.Pin, nil
		}
	}
	return federation.Pin{}, &Refusal{
		Reason: wire.ReasonNoSuchPending, Text: "no hub that waits here has the code " + code + ": it has not called yet, the code was misread, or what it is shown is not this hub's key. " +
			"One that never called is approved by its whole fingerprint with --hub HUB, and --endpoint HOST:PORT if this side is to call it",
		Next: Command("peer", "pending"),
	}
}

// approve makes a hub a peer and says what that opens. A dry run goes the same way as far as the hub's decision.
func (n *Node) approve(ctx context.Context, in Approval) (Approved, error) {
	a, err := n.approval(ctx, in)
	if err != nil {
		return Approved{}, err
	}
	a.DryRun = true
	p, err := n.hub.Approve(ctx, a)
	if err != nil {
		return Approved{}, n.notApproved(err, in, a.Pins[0])
	}
	if err := n.notSelf(p.Pins[0], p.Endpoints); err != nil {
		return Approved{}, err
	}
	out, before := Approved{}, n.approvedAs(p.Hub)
	if out.Before, err = n.opening(ctx, before.MayReach); err != nil {
		return Approved{}, err
	}
	if out.After, err = n.opening(ctx, p.MayReach); err != nil {
		return Approved{}, err
	}
	if !in.DryRun {
		a.DryRun = false
		if p, err = n.hub.Approve(ctx, a); err != nil {
			return Approved{}, n.notApproved(err, in, a.Pins[0])
		}
	}
	out.Peer = n.peer(p)
	return out, nil
}

// approval understands a request to approve. What it leaves out the hub fills in.
func (n *Node) approval(ctx context.Context, in Approval) (hub.Approval, error) {
	pin, err := n.keyOf(in.Key)
	if err != nil {
		return hub.Approval{}, err
	}
	bad := func(reason wire.Reason, text string, args ...any) error {
		return &Refusal{Reason: reason, Text: fmt.Sprintf(text, args...), Next: Command("peer", "approve", "--help")}
	}
	if strings.TrimSpace(in.By) == "" {
		return hub.Approval{}, bad(wire.ReasonWrongUsage, "nobody approves: --by NAME says who compared the code or the fingerprint")
	}
	p := federation.Peer{Hub: wire.HubID(in.Hub), Endpoints: in.Endpoints, Pins: []federation.Pin{pin}, By: in.By, User: userOf(ctx)}
	if _, err := wire.ParseHubID(in.Hub); err != nil && in.Hub != "" {
		return hub.Approval{}, bad(wire.ReasonInvalidHubID, "%q is no hub id", in.Hub)
	}
	if err := checkAnnounce(in.Endpoints); err != nil {
		return hub.Approval{}, bad(wire.ReasonInvalidAddress, "the endpoint: %v", err)
	}
	for _, text := range in.MayReach {
		pattern, err := wire.ParsePattern(text)
		if err != nil {
			return hub.Approval{}, bad(wire.ReasonInvalidPattern, "%q is no pattern: PROJECT/SEAT or NAME, where * and ? stay within one part", text)
		}
		p.MayReach = append(p.MayReach, pattern)
	}
	return hub.Approval{Peer: p, Replace: in.Replace}, nil
}

// approvedAs is the peer that has this hub id already, the zero Peer if there is none.
func (n *Node) approvedAs(hubID wire.HubID) federation.Peer {
	before, _ := n.hub.Trust().Peer(hubID)
	return before
}

// opening is what patterns open here now: the names that are online, and the seats that have a token.
func (n *Node) opening(ctx context.Context, patterns []wire.Pattern) (Opening, error) {
	out := Opening{Patterns: []string{}, Seats: []string{}}
	s, err := n.hub.Status(ctx)
	if err != nil {
		return out, err
	}
	tokens, err := n.hub.Tokens(ctx)
	if err != nil {
		return out, err
	}
	seats := slices.Clone(s.Online)
	for _, t := range tokens {
		seats = append(seats, t.Seat)
	}
	slices.Sort(seats)
	for _, p := range patterns {
		out.Patterns = append(out.Patterns, p.String())
	}
	for _, seat := range slices.Compact(seats) {
		if slices.ContainsFunc(patterns, func(p wire.Pattern) bool { return p.Matches(seat) }) {
			out.Seats = append(out.Seats, seat)
		}
	}
	return out, nil
}

// reject turns a pending key away.
func (n *Node) reject(ctx context.Context, in Rejection) (Rejected, error) {
	pin, err := n.keyOf(in.Key)
	if err != nil {
		return Rejected{}, err
	}
	if strings.TrimSpace(in.By) == "" {
		return Rejected{}, nobody("peer", "reject")
	}
	r, err := n.hub.Reject(ctx, hub.Rejection{Pin: pin, By: in.By, User: userOf(ctx), DryRun: in.DryRun})
	if err != nil {
		return Rejected{}, err
	}
	return n.rejected(r), nil
}

// revoke ends an approval.
func (n *Node) revoke(ctx context.Context, in Revocation) (RevokedPeer, error) {
	if strings.TrimSpace(in.By) == "" {
		return RevokedPeer{}, nobody("peer", "revoke")
	}
	r, already, err := n.hub.Revoke(ctx, hub.Revocation{Hub: wire.HubID(in.Hub), By: in.By, User: userOf(ctx), Why: in.Why, DryRun: in.DryRun})
	if err != nil {
		return RevokedPeer{}, err
	}
	row := n.revokedPeer(&r)
	row.Already = already
	return row, nil
}

// nobody refuses a decision that says not whose it is.
func nobody(command ...string) error {
	return &Refusal{Reason: wire.ReasonWrongUsage, Text: "--by NAME says who decides; it may not be empty", Next: Command(append(command, "--help")...)}
}

// reconcile lets the lanes with a fenced peer begin anew.
func (n *Node) reconcile(ctx context.Context, in ReconcileRequest) (hub.Reconciliation, error) {
	return n.hub.Reconcile(ctx, wire.HubID(in.Hub), in.By, userOf(ctx), in.DryRun)
}
