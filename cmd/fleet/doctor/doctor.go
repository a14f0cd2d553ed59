package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fleetrelay/certs"
	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

// Options say what is looked at. Node is how its folder is opened if it does not serve; Peer is one of its peers, "" for
// the node alone. Now is the clock, nil means time.Now.
type Options struct {
	Node node.Options
	Peer string
	Now  func() time.Time
}

// Run looks at a node, and at one of its peers if one is named. It takes some seconds at most for each endpoint that does
// not answer. The error is for what keeps everything from being looked at: there is no node in the folder, or ctx ended.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	cfg, _, err := node.LoadConfig(o.Node.Dir, o.Node.Environ, o.Node.Overrides)
	if err != nil {
		return Report{}, err
	}
	r := Report{Hub: cfg.Hub, Peer: o.Peer}
	r.folder(o.Node.Dir)
	id := r.key(o.Node.Dir)
	r.certificate(id, o.Now())
	r.disk(ctx, node.JournalDir(o.Node.Dir))
	s, known := r.node(ctx, o.Node)
	switch {
	case !known:
		r.skip("links", "", "the node's journal, which names its peers, could not be asked")
	case o.Peer == "":
		r.links(s)
	default:
		r.peer(ctx, o, id, s)
	}
	count, _ := r.Wanting()
	r.OK = count == 0
	return r, ctx.Err()
}

// certificate judges the node's own certificate by the clock by which its peers judge it, as far as clocks agree.
func (r *Report) certificate(id *certs.Identity, now time.Time) {
	if id == nil {
		r.skip("certificate", "", "the key could not be read")
		return
	}
	helps := node.Advice("set this machine's clock right; if it is right, the node needs a new identity, which every peer has to approve")
	switch {
	case now.Before(id.NotBefore()):
		r.fail("certificate", "", &node.Refusal{
			Reason: wire.ReasonCertificateNotYetValid, Text: "this node's certificate begins only at " + day(id.NotBefore()), Next: helps,
		})
	case now.After(id.NotAfter()):
		r.fail("certificate", "", &node.Refusal{
			Reason: wire.ReasonCertificateExpired, Text: "this node's certificate ended at " + day(id.NotAfter()), Next: helps,
		})
	default:
		r.ok("certificate", "", "valid from %s to %s", day(id.NotBefore()), day(id.NotAfter()))
	}
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// node asks the node, serving or stopped, what it is; known says that there is an answer.
func (r *Report) node(ctx context.Context, o node.Options) (s node.Status, known bool) {
	c, err := node.Connect(ctx, o)
	if err == nil {
		s, err = c.Status(ctx)
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		r.fail("node", "", err)
		return s, false
	}
	if !s.Running {
		r.fail("node", "", &node.Refusal{
			Reason: wire.ReasonNotRunning, Text: "it does not run, so nothing can be said of its links; its journal opens", Next: node.Command("serve"),
		})
		return s, true
	}
	if v := s.Journal.Verified; v != nil && v.Damage != "" {
		r.fail("node", "", &node.Refusal{Reason: wire.ReasonJournalCorrupt, Text: "the running node found its journal damaged: " + v.Damage})
		return s, true
	}
	if s.Exposed() {
		r.fail("node", "", &node.Refusal{
			Reason: wire.ReasonInvalidConfig, Text: "agents reach " + s.Agents + " from other machines without TLS: tokens and messages can be read on the way",
			Next: node.Advice("set agents_tls in " + node.ConfigFile),
		})
		return s, true
	}
	r.ok("announced", "", "%s", announcedText(s.Announced))
	r.ok("node", "", "runs since %s, pid %d, journal of %s", day(time.UnixMicro(s.SinceUS)), s.PID, node.Count(s.HeadSeq, "event"))
	return s, true
}

// announcedText is where other hubs are told to reach the node, and what may keep them from it: whether that is meant is
// for the operator to say.
func announcedText(a node.Announced) string {
	text := "other hubs are told to call " + strings.Join(a.Endpoints, ", ")
	if a.Warning != "" {
		text += ". " + strings.TrimSuffix(a.Warning, ".")
	}
	return text
}

// links looks at every peer's link as the running node reports it.
func (r *Report) links(s node.Status) {
	if len(s.Peers) == 0 {
		r.skip("link", "", "there is no peer")
	}
	for _, p := range s.Peers {
		r.link(s, p, node.Command("doctor", p.Hub))
	}
}

// link looks at one peer's link; look is where to look next if it is down.
func (r *Report) link(s node.Status, p node.PeerStatus, look node.Next) {
	waits := p.OutHead - p.OutAcked
	switch {
	case !s.Running:
		r.skip("link", p.Hub, "the node does not run")
	case p.LinkUp():
		r.ok("link", p.Hub, "up over %s since %s, %d to send", cmp.Or(p.LinkPath, "an unnamed path"), day(time.UnixMicro(p.LinkSince)), waits)
	default:
		why, next := p.LinkWhy()
		if look != (node.Next{}) {
			next = look
		}
		text := p.Link
		if m := p.LinkMeaning(); m != "" {
			text += ": " + m
		}
		if why != "" {
			text += "; " + why
		}
		if waits > 0 {
			text += fmt.Sprintf("; %d to send", waits)
		}
		r.fail("link", p.Hub, &node.Refusal{Reason: cmp.Or(wire.Reason(p.LinkReason), wire.ReasonLinkLost), Text: text, Next: next})
	}
}
