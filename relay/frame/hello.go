package frame

import (
	"strconv"
	"strings"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// Hello opens a link in both directions.
type Hello struct {
	Versions Versions
	// Hub is the sender; it must be the hub that the pinned key proved.
	Hub wire.HubID
	// Instance is random for each process: another instance is a restarted (or second) node.
	Instance [16]byte
	// Link numbers the hellos an instance sent to this peer, from 1. Of two links of one instance the higher one is the
	// later wish.
	Link uint64
	// Epoch and EpochID are the epoch in which the sender numbers its lane.
	Epoch   uint64
	EpochID [16]byte
	// Base is where in the lane that epoch begins: not at 0 after the lane was reconciled.
	Base Base
	// In is how much the sender durably holds of the receiver's lane.
	In Position
	// Out is the state of the sender's own lane.
	Out Extent
	// Offer is the most that the sender admits on the link.
	Offer federation.Ceiling
}

// Base is the record before an epoch's first one, and the lane's hash there.
type Base struct {
	Seq  uint64
	Hash [32]byte
}

// Position is a cursor of a lane. All zero when nothing was received.
type Position struct {
	EpochID [16]byte
	Seq     uint64
	Hash    [32]byte
}

// Extent is how far a lane reaches: its last record, and the last one that its receiver acknowledged.
type Extent struct{ Head, Acked uint64 }

// Append appends the whole frame.
func (h *Hello) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(appendPrefix(dst), `{"type":"hello","relay_min":`...)
	dst = strconv.AppendInt(dst, int64(h.Versions.Min), 10)
	dst = append(dst, `,"relay_max":`...)
	dst = strconv.AppendInt(dst, int64(h.Versions.Max), 10)
	dst = append(dst, `,"hub":`...)
	dst = wire.AppendString(dst, string(h.Hub))
	dst = append(dst, `,"instance":`...)
	dst = appendHex(dst, h.Instance[:])
	dst = append(dst, `,"link":`...)
	dst = strconv.AppendUint(dst, h.Link, 10)
	dst = append(dst, `,"epoch":`...)
	dst = strconv.AppendUint(dst, h.Epoch, 10)
	dst = append(dst, `,"epoch_id":`...)
	dst = appendHex(dst, h.EpochID[:])
	dst = append(dst, `,"base":{"seq":`...)
	dst = strconv.AppendUint(dst, h.Base.Seq, 10)
	dst = append(dst, `,"hash":`...)
	dst = appendHex(dst, h.Base.Hash[:])
	dst = append(dst, `},"in":{"epoch_id":`...)
	dst = appendHex(dst, h.In.EpochID[:])
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, h.In.Seq, 10)
	dst = append(dst, `,"hash":`...)
	dst = appendHex(dst, h.In.Hash[:])
	dst = append(dst, `},"out":{"head":`...)
	dst = strconv.AppendUint(dst, h.Out.Head, 10)
	dst = append(dst, `,"acked":`...)
	dst = strconv.AppendUint(dst, h.Out.Acked, 10)
	dst = append(dst, `},"offer":`...)
	dst = appendOffer(dst, &h.Offer)
	return endHeader(append(dst, '}'), start, 0)
}

func appendOffer(dst []byte, c *federation.Ceiling) []byte {
	dst = strconv.AppendBool(append(dst, `{"chat":`...), c.Chat)
	dst = strconv.AppendUint(append(dst, `,"max_body_bytes":`...), c.MaxBodyBytes, 10)
	dst = strconv.AppendUint(append(dst, `,"max_frame_bytes":`...), c.MaxFrameBytes, 10)
	dst = strconv.AppendUint(append(dst, `,"max_hops":`...), c.MaxHops, 10)
	dst = wire.AppendString(append(dst, `,"receipts":`...), c.Receipts.String())
	dst = strconv.AppendBool(append(dst, `,"roster":`...), c.Roster)
	return append(dst, '}')
}

// ParseHello reads a hello and settles the relay version with what this side speaks. The versions are judged before any
// other member, so that a peer of another generation is told relay_version and not that its hello is wrong.
func ParseHello(f Frame, ours Versions) (Hello, Version, error) {
	if f.Type != wire.LinkHello {
		return Hello{}, 0, protocolError("%s before hello", f.Type)
	}
	in := fields{obj: f.header}
	h := Hello{Versions: Versions{Version(in.number("relay_min")), Version(in.number("relay_max"))}}
	if in.err != nil {
		return Hello{}, 0, in.err
	}
	if h.Versions.Min < 1 || h.Versions.Max < h.Versions.Min {
		return Hello{}, 0, protocolError("relay versions %v", h.Versions)
	}
	v, err := ours.Choose(h.Versions)
	if err != nil {
		return Hello{}, 0, err
	}
	h.parse(&in)
	if in.err != nil {
		return Hello{}, 0, in.err
	}
	return h, v, nil
}

func (h *Hello) parse(in *fields) {
	h.Hub = in.hub("hub")
	in.hexTo(h.Instance[:], "instance")
	h.Link = in.number("link")
	h.Epoch = in.number("epoch")
	in.hexTo(h.EpochID[:], "epoch_id")
	h.Base = parseBase(in)
	h.In = parsePosition(in)
	h.Out = parseExtent(in)
	h.Offer = parseOffer(in)
	switch {
	case h.Link == 0 || h.Epoch == 0:
		in.fail("link and epoch count from 1")
	case h.Base.Seq > h.Out.Acked:
		in.fail("an epoch that begins at %d, where %d is acknowledged", h.Base.Seq, h.Out.Acked)
	}
}

func parseBase(in *fields) (b Base) {
	sub := in.object("base")
	b.Seq = sub.number("seq")
	sub.hexTo(b.Hash[:], "hash")
	if b.Seq == 0 && b != (Base{}) {
		sub.fail("a base at 0 with a hash")
	}
	in.adopt(sub)
	return b
}

func parseOffer(in *fields) (c federation.Ceiling) {
	sub := in.object("offer")
	c.Chat, c.Roster = sub.flag("chat"), sub.flag("roster")
	c.MaxBodyBytes, c.MaxFrameBytes = sub.number("max_body_bytes"), sub.number("max_frame_bytes")
	c.MaxHops = sub.number("max_hops")
	c.Receipts = federation.ParseReceipts(sub.text("receipts"))
	in.adopt(sub)
	return c
}

// maxUnknown bounds the names that [UnknownOffer] returns.
const maxUnknown = 16

// UnknownOffer lists the members of a hello's offer that this build does not know, to be shown: they are of later relay
// versions and have no part in the profile. At most 16 names, each cut at 64 bytes, anything but ASCII letters, digits, `_`,
// `-` and `.` in them replaced by `?`.
func UnknownOffer(f Frame) (names []string) {
	in := fields{obj: f.header}
	offer := in.object("offer")
	for _, m := range offer.obj.Members {
		if len(names) < maxUnknown && !federation.IsMember(m.Name) {
			names = append(names, plain(m.Name[:min(len(m.Name), maxReason)]))
		}
	}
	return names
}

// plain replaces what could be more than a letter on somebody's terminal: a peer chooses these names.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '?'
	}, name)
}

func parsePosition(in *fields) (p Position) {
	sub := in.object("in")
	sub.hexTo(p.EpochID[:], "epoch_id")
	p.Seq = sub.number("seq")
	sub.hexTo(p.Hash[:], "hash")
	if p.Seq == 0 && p != (Position{}) {
		sub.fail("a cursor at 0 with an epoch or a hash")
	}
	in.adopt(sub)
	return p
}

func parseExtent(in *fields) (e Extent) {
	sub := in.object("out")
	e.Head, e.Acked = sub.number("head"), sub.number("acked")
	if e.Acked > e.Head {
		sub.fail("acknowledged %d of a lane of %d", e.Acked, e.Head)
	}
	in.adopt(sub)
	return e
}
