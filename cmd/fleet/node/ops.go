package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// Status reports what the node is and does, as of the last synced turn.
func (n *Node) Status(ctx context.Context) (Status, error) {
	h, err := n.hub.Status(ctx)
	if err != nil {
		return Status{}, err
	}
	out := Status{
		Hub: n.cfg.Hub, Version: n.o.Version, Dir: n.dir, Pin: n.identity.Pin().String(),
		CertificateEnds: n.identity.NotAfter().UnixMicro(), Agents: n.cfg.Agents, AgentsTLS: n.cfg.AgentsTLS.Cert != "", Links: n.cfg.Links,
		Epoch: h.Epoch, EpochID: h.EpochID, HeadSeq: h.Head, Online: len(h.Online), OnlineNames: append([]string{}, h.Online...), Sockets: h.Sockets, Watchers: int(n.watchers.Load()),
		Secured: h.Secured, PrivateDirected: h.PrivateDirected, PendingReceipts: h.PendingReceipts, Peers: []PeerStatus{}, Announced: n.announced(),
		Journal: JournalUse{BytesWritten: h.Journal.BytesWritten, Syncs: h.Journal.Syncs, DiskBytes: folderBytes(JournalDir(n.dir))},
	}
	if s := n.serving.Load(); s != nil {
		out.Running, out.PID, out.SinceUS = true, os.Getpid(), s.since.UnixMicro()
		out.Agents, out.Links = s.agents.Addr().String(), s.links.LocalAddr().String()
		verified := s.patrol.State()
		out.Journal.Verified, out.Refusals = &verified, sum(h.Refusals, s.relay.Refused())
	}
	trust := n.hub.Trust()
	for _, p := range trust.Peers() {
		out.Peers = append(out.Peers, n.peer(p))
	}
	out.Revoked, out.Rejected = n.revoked(), len(trust.Rejected())
	out.Waiting = n.waiting()
	return out, nil
}

// sum adds up counts by reason.
func sum(all ...map[wire.Reason]uint64) map[wire.Reason]uint64 {
	out := map[wire.Reason]uint64{}
	for _, counts := range all {
		for reason, n := range counts {
			out[reason] += n
		}
	}
	return out
}

func (n *Node) tokens(ctx context.Context, _ Empty) (Tokens, error) {
	list, err := n.hub.Tokens(ctx)
	out := Tokens{Tokens: []Token{}}
	for _, t := range list {
		out.Tokens = append(out.Tokens, Token{ID: t.ID, Seat: t.Seat, By: t.By, CreatedUS: t.CreatedUS})
	}
	return out, err
}

func (n *Node) createToken(ctx context.Context, in TokenRequest) (Token, error) {
	if isPattern(in.Seat) {
		return Token{}, &Refusal{
			Reason: wire.ReasonInvalidName, Text: fmt.Sprintf("a token is for one seat, and %q is a pattern: make one for each seat", in.Seat),
			Next: Command("agent", "token", "create", "--seat", "PROJECT/SEAT"),
		}
	}
	id, secret, err := n.hub.CreateToken(ctx, in.Seat, userOf(ctx))
	return Token{ID: id, Seat: in.Seat, Secret: secret, By: userOf(ctx)}, err
}

// isPattern says that a name addresses several seats, as a target would, and so is that of none.
func isPattern(seat string) bool { return strings.ContainsAny(seat, "*?[],") || seat == wire.TargetAll }

// endToken revokes a token, but never opens a hub that a network can reach.
func (n *Node) endToken(ctx context.Context, id string) error {
	list, err := n.hub.Tokens(ctx)
	if err != nil {
		return err
	}
	if len(list) == 1 && list[0].ID == id && n.serving.Load() != nil && !loopback(n.cfg.Agents) {
		return &Refusal{
			Reason: wire.ReasonOpenHubNotLoopback, Text: "this is the last token, and without one that replaces it the hub would be open to the network on " + n.cfg.Agents,
			Next: Command("agent", "token", "create", "--seat", "PROJECT/SEAT"),
		}
	}
	return n.hub.RevokeToken(ctx, id, userOf(ctx))
}

func (n *Node) send(ctx context.Context, in SendRequest) (Sent, error) {
	res, err := n.hub.Send(ctx, hub.SendRequest{
		As: in.As, To: in.To, Text: in.Text, ClientMsgID: in.ClientMsgID, ReceiptRequested: in.Receipt, Principal: "admin:" + userOf(ctx),
	})
	return Sent{Seq: res.Seq, MsgID: res.MsgID, TimeUS: res.TimeUS, Dest: string(res.Dest), ClientMsgID: in.ClientMsgID, NobodyOnline: res.NobodyOnline}, err
}

func (n *Node) purge(ctx context.Context, in PurgeRequest) (Empty, error) {
	if strings.TrimSpace(in.Why) == "" {
		return Empty{}, &Refusal{Reason: wire.ReasonWrongUsage, Text: "a purge needs a reason, which is kept for good", Next: Advice("give it with --why")}
	}
	return Empty{}, n.hub.PurgeBody(ctx, in.Seq, userOf(ctx), in.Why)
}

// ownSeat refuses what can be no seat of this hub: nothing would ever be seen of it.
func (n *Node) ownSeat(seat string) error {
	bad := wire.ValidLocalName(seat)
	if bad == nil && isPattern(seat) {
		return &Refusal{
			Reason: wire.ReasonInvalidName, Text: fmt.Sprintf("%q is a pattern, and what is watched is one seat", seat),
			Next: Command("watch", "--as", "PROJECT/SEAT"),
		}
	}
	if bad == nil {
		return nil
	}
	r := Refusal{Reason: bad.Reason, Text: strings.TrimSuffix(bad.Text, ".")}
	if name, at, foreign := strings.Cut(seat, "@"); foreign {
		r.Text = fmt.Sprintf("%q is a seat of another hub, and this one sees only its own", seat)
		r.Next = Advice("watch it on the node of that hub")
		if at == n.cfg.Hub {
			r.Text, r.Next = fmt.Sprintf("%q is written as other hubs write it", seat), Command("watch", "--as", name)
		}
	}
	return fill(&r)
}

func (n *Node) watch(w http.ResponseWriter, r *http.Request) {
	seat := r.URL.Query().Get("seat")
	if err := n.ownSeat(seat); err != nil {
		n.refuse(w, err)
		return
	}
	events, err := n.hub.Watch(r.Context(), seat)
	if err != nil {
		n.refuse(w, err)
		return
	}
	n.watchers.Add(1)
	defer n.watchers.Add(-1)
	l := startLines(w, true)
	for ev := range events {
		if err := l.put(Watched{Sent: ev.Sent, Frame: wire.Raw(ev.Frame)}); err != nil {
			if !errors.Is(err, context.Canceled) {
				n.log.Debug("watcher gone", "error", err)
			}
			return
		}
	}
	l.end()
}
