package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay"
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
	for _, p := range n.hub.Trust().Peers() {
		out.Peers = append(out.Peers, n.peer(p))
	}
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

// peer describes one peer with its synced lanes and its link.
func (n *Node) peer(p federation.Peer) PeerStatus {
	lane := n.hub.LaneOut(p.Hub)
	row := PeerStatus{
		Hub: string(p.Hub), Endpoint: strings.Join(p.Endpoints, ","), By: p.By, User: p.User, AddedUS: p.AddedUS,
		OutHead: lane.Head, OutAcked: lane.Acked, OutRefused: lane.Denied, In: n.hub.LaneIn(p.Hub).Seq,
	}
	for _, pin := range p.Pins {
		row.Pins = append(row.Pins, certs.Pin(pin).String())
	}
	for _, pattern := range p.MayReach {
		row.MayReach = append(row.MayReach, pattern.String())
	}
	if s := n.serving.Load(); s != nil {
		for _, l := range s.relay.Links() {
			if l.Peer == p.Hub {
				row.Link, row.LinkPath, row.LinkSince = string(l.State), l.Path, l.SinceUS
				if l.State == relay.Up {
					continue // why an earlier link ended says nothing about this one
				}
				row.LinkReason, row.LinkDetail, row.LinkRemote = string(l.LastReason), plainDetail(l.LastReason, l.LastDetail), l.Remote
				row.LinkAttempts, row.LinkNextUS = l.Attempts, l.NextUS
			}
		}
	}
	return row
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

func (n *Node) addPeer(ctx context.Context, in Peer) (PeerStatus, error) {
	p, err := parsePeer(in)
	if err != nil {
		return PeerStatus{}, err
	}
	if err := n.notSelf(p); err != nil {
		return PeerStatus{}, err
	}
	p.User = userOf(ctx)
	approved, err := n.hub.Approve(ctx, hub.Approval{Peer: p, Replace: in.Replace})
	if err != nil {
		return PeerStatus{}, n.taken(err, in)
	}
	return n.peer(approved), nil
}

// taken gives hub_id_taken the next step that fits: a peer of that very id is changed by the same command with
// --replace; an id that only looks like a peer's is not, as it is another id.
func (n *Node) taken(err error, in Peer) error {
	if Explain(err).Reason != wire.ReasonHubIDTaken {
		return err
	}
	r := *Explain(err)
	same := func(p federation.Peer) bool { return string(p.Hub) == in.Hub }
	r.Next = Advice("correct the hub id, if that peer was meant, and add --replace; another hub has to choose an id that looks different")
	if slices.ContainsFunc(n.hub.Trust().Peers(), same) {
		r.Next = Command(in.replacing()...)
	}
	return &r
}

// replacing is the command line that changes this peer.
func (p Peer) replacing() []string {
	words := []string{"peer", "add", "--replace", "--hub", p.Hub, "--endpoint", p.Endpoint}
	for _, pin := range p.Pins {
		words = append(words, "--pin", pin)
	}
	for _, pattern := range p.MayReach {
		words = append(words, "--may-reach", pattern)
	}
	return append(words, "--by", p.By)
}

// notSelf refuses this node's own key and, where it can be told, its own address.
func (n *Node) notSelf(p federation.Peer) error {
	for _, pin := range p.Pins {
		if certs.Pin(pin) == n.identity.Pin() {
			return &Refusal{Reason: wire.ReasonOwnPin, Text: certs.Pin(pin).String() + " is the pin of this node", Next: Advice("give the pin that the other hub's administrator reads from its own status")}
		}
	}
	links := n.cfg.Links
	if s := n.serving.Load(); s != nil {
		links = s.links.LocalAddr().String()
	}
	for _, endpoint := range p.Endpoints {
		if !sameListener(endpoint, links) {
			continue
		}
		return &Refusal{Reason: wire.ReasonSelfDial, Text: "the endpoint " + endpoint + " is this node's own links address", Next: Advice("give the address and UDP port of the other hub's node")}
	}
	return nil
}

// sameListener says whether an endpoint leads to a listener of this machine. A name is not looked up, except localhost.
func sameListener(endpoint, listener string) bool {
	host, port, err := net.SplitHostPort(endpoint)
	lhost, lport, lerr := net.SplitHostPort(listener)
	if err != nil || lerr != nil || port != lport {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	ip, bound := net.ParseIP(host), net.ParseIP(lhost)
	if ip == nil {
		return false
	}
	if bound != nil && !bound.IsUnspecified() {
		return ip.Equal(bound)
	}
	addrs, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && own.IP.Equal(ip)
	})
}

func parsePeer(in Peer) (federation.Peer, error) {
	bad := func(reason wire.Reason, text string, args ...any) error {
		return &Refusal{Reason: reason, Text: fmt.Sprintf(text, args...), Next: Command("peer", "add", "--help")}
	}
	id, err := wire.ParseHubID(in.Hub)
	if err != nil {
		return federation.Peer{}, bad(wire.ReasonInvalidHubID, "%q is no hub id", in.Hub)
	}
	if host, port, err := net.SplitHostPort(in.Endpoint); err != nil || host == "" || !portNumber(port) {
		return federation.Peer{}, bad(wire.ReasonInvalidAddress, "the endpoint %q is not HOST:PORT", in.Endpoint)
	}
	if strings.TrimSpace(in.By) == "" {
		return federation.Peer{}, bad(wire.ReasonWrongUsage, "nobody approves: --by NAME says who compared the pin")
	}
	p := federation.Peer{Hub: id, Endpoints: []string{in.Endpoint}, By: in.By}
	for _, text := range in.Pins {
		pin, err := certs.ParsePin(text)
		if err != nil {
			return federation.Peer{}, &Refusal{Reason: wire.ReasonInvalidPin, Text: fmt.Sprintf("%q is no pin: sha256: and 64 hexadecimal digits", text), Next: Advice("copy the whole pin that fleet status shows on the other hub")}
		}
		p.Pins = append(p.Pins, pin)
	}
	for _, text := range in.MayReach {
		pattern, err := wire.ParsePattern(text)
		if err != nil {
			return federation.Peer{}, bad(wire.ReasonInvalidPattern, "%q is no pattern: PROJECT/SEAT or NAME, where * and ? stay within one part", text)
		}
		p.MayReach = append(p.MayReach, pattern)
	}
	return p, nil
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
	if strings.ContainsAny(in.Seat, "*?[],") || in.Seat == "all" {
		return Token{}, &Refusal{
			Reason: wire.ReasonInvalidName, Text: fmt.Sprintf("a token is for one seat, and %q is a pattern: make one for each seat", in.Seat),
			Next: Command("agent", "token", "create", "--seat", "PROJECT/SEAT"),
		}
	}
	id, secret, err := n.hub.CreateToken(ctx, in.Seat, userOf(ctx))
	return Token{ID: id, Seat: in.Seat, Secret: secret, By: userOf(ctx)}, err
}

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
