package relay

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"

	"github.com/google/go-cmp/cmp"
)

// hostile is a peer whose every byte the test writes. It calls itself alpha and dials beta.
type hostile struct {
	t     *testing.T
	net   *network
	conn  *memConn
	in    *frame.Reader
	links uint64
	// silent is a peer that says no profile of its own accord.
	silent bool
}

// dial connects and says hello, changed by edit; it returns beta's answer.
func (h *hostile) dial(edit func(*frame.Hello)) frame.Frame {
	h.t.Helper()
	d, l := memPair(alpha, beta)
	h.net.port(string(beta)) <- l
	h.conn, h.in = d, frame.NewReader(d, 2<<20)
	h.links++
	hello := frame.Hello{
		Versions: frame.Versions{Min: 1, Max: 1}, Hub: alpha, Link: h.links, Epoch: 1, Out: frame.Extent{Head: 1 << 40},
		Offer: federation.BuildCeiling(wire.DefaultMaxBytes),
	}
	copy(hello.EpochID[:], "epoch of "+alpha)
	hello.Instance[0] = 7
	if edit != nil {
		edit(&hello)
	}
	h.write(hello.Append(nil))
	f := h.next()
	if f.Type == wire.LinkHello && !h.silent {
		p := frame.Profile{Digest: federation.Admit(1, hello.Offer, federation.BuildCeiling(wire.DefaultMaxBytes)).Digest()}
		h.write(p.Append(nil))
	}
	return f
}

func (h *hostile) write(b []byte) {
	_, _ = h.conn.Write(b)
	_ = h.conn.Flush()
}

// next is the next frame of beta that is neither its profile nor a beat; a zero Frame when the connection ended.
func (h *hostile) next() frame.Frame {
	for {
		f, err := h.in.Next()
		switch {
		case err != nil:
			return frame.Frame{}
		case f.Type != wire.LinkProfile && f.Type != wire.LinkBeat:
			return f
		}
	}
}

func (h *hostile) bye() wire.Reason {
	for {
		switch f := h.next(); f.Type {
		case wire.LinkBye:
			b, err := frame.ParseBye(f)
			if err != nil {
				h.t.Error(err)
			}
			return b.Reason
		case "":
			return ""
		}
	}
}

// acked reads until the ack of seq and returns all refusals on the way.
func (h *hostile) acked(seq uint64) (refused []frame.Refused) {
	for {
		f := h.next()
		switch f.Type {
		case wire.LinkAck:
			a, err := frame.ParseAck(f)
			if err != nil {
				h.t.Error(err)
			}
			refused = append(refused, a.Refused...)
			if a.Seq >= seq {
				return refused
			}
		case "", wire.LinkBye:
			h.t.Errorf("the link ended before %d was acknowledged", seq)
			return refused
		}
	}
}

// record is record seq of alpha's lane as it should be.
func record(seq uint64) (frame.Origin, []byte) {
	body := fmt.Appendf(nil, `{"payload":"%d"}`, seq)
	o := frame.Origin{
		Hub: alpha, Epoch: 1, Seq: seq, MsgID: seq, AcceptedUS: 1, Sender: "demo/alice", Principal: "open",
		Target: "demo/bob@beta.example", Digest: sha256.Sum256(body),
	}
	copy(o.EpochID[:], "epoch of "+alpha)
	return o, body
}

// frameOf is a records frame of raw blocks and bodies.
func frameOf(first uint64, recs ...frame.Record) []byte {
	header := fmt.Sprintf(`{"type":"records","first":%d,"sizes":[`, first)
	var payload []byte
	for i, r := range recs {
		if i > 0 {
			header += ","
		}
		header += fmt.Sprintf("%d,%d", len(r.Origin), len(r.Body))
		payload = append(append(payload, r.Origin...), r.Body...)
	}
	header += "]}"
	out := []byte{0, 0, byte(len(header) >> 8), byte(len(header)), 0, byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload))}
	return append(append(out, header...), payload...)
}

func good(seq uint64) frame.Record {
	o, body := record(seq)
	return frame.Record{Origin: o.Append(nil), Body: body}
}

func withHostile(t *testing.T, fn func(h *hostile, b *node)) {
	t.Helper()
	withHostileTo(t, func() *store { return newStore(beta, alpha) }, fn)
}

func withHostileTo(t *testing.T, make func() *store, fn func(h *hostile, b *node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.made = func(int, *memConn) error { return errUnreachable }
		s := make()
		b := start(t, n, s, s)
		defer synctest.Wait()
		defer s.close()
		defer b.stop()
		h := &hostile{t: t, net: n}
		fn(h, b)
		if h.conn != nil {
			_ = h.conn.Close("")
		}
	})
}

// Each poisonous record is refused with its reason, the rest of its batch and of the lane goes on, the link stays, and
// the next hello finds both ends agreed about the hash of the lane.
func TestPoisonousRecords(t *testing.T) {
	edit := func(fn func(o *frame.Origin, body *[]byte)) func(uint64) frame.Record {
		return func(seq uint64) frame.Record {
			o, body := record(seq)
			fn(&o, &body)
			return frame.Record{Origin: o.Append(nil), Body: body}
		}
	}
	block := func(old, new string) func(uint64) frame.Record {
		return func(seq uint64) frame.Record {
			r := good(seq)
			r.Origin = bytes.Replace(r.Origin, []byte(old), []byte(new), 1)
			return r
		}
	}
	bodied := func(body string) func(uint64) frame.Record {
		return edit(func(o *frame.Origin, b *[]byte) { *b, o.Digest = []byte(body), sha256.Sum256([]byte(body)) })
	}
	for name, c := range map[string]struct {
		poison func(uint64) frame.Record
		want   wire.Reason
	}{
		"another hub":        {edit(func(o *frame.Origin, _ *[]byte) { o.Hub = "gamma.example" }), wire.ReasonWrongOrigin},
		"our hub":            {edit(func(o *frame.Origin, _ *[]byte) { o.Hub = beta }), wire.ReasonWrongOrigin},
		"another epoch":      {edit(func(o *frame.Origin, _ *[]byte) { o.EpochID[0]++ }), wire.ReasonWrongOrigin},
		"epoch number":       {edit(func(o *frame.Origin, _ *[]byte) { o.Epoch++ }), wire.ReasonWrongOrigin},
		"altered body":       {edit(func(_ *frame.Origin, b *[]byte) { (*b)[13]++ }), wire.ReasonDigestMismatch},
		"empty body":         {bodied(""), wire.ReasonMalformedJSON},
		"body not JSON":      {bodied(`{"payload":`), wire.ReasonMalformedJSON},
		"body no object":     {bodied(`["payload"]`), wire.ReasonMalformedFrame},
		"body twice named":   {bodied(`{"payload":"a","payload":"b"}`), wire.ReasonMalformedJSON},
		"body of the hub":    {bodied(`{"payload":"a","sender":"demo/carol"}`), wire.ReasonMalformedFrame},
		"wrong number":       {edit(func(o *frame.Origin, _ *[]byte) { o.Seq += 7 }), wire.ReasonMalformedOrigin},
		"not canonical":      {block(`,"epoch":`, `, "epoch":`), wire.ReasonMalformedOrigin},
		"garbage":            {func(uint64) frame.Record { return frame.Record{Origin: []byte{0xff}, Body: []byte("x")} }, wire.ReasonMalformedOrigin},
		"a hop":              {block(`"path":[]`, `"path":["gamma.example"]`), wire.ReasonTooManyHops},
		"hops repeat":        {block(`"path":[]`, `"path":["gamma.example","gamma.example"]`), wire.ReasonTooManyHops},
		"hops of wrong type": {block(`"path":[]`, `"path":[null,{},1]`), wire.ReasonTooManyHops},
		"huge path":          {block(`"path":[]`, `"path":["`+string(bytes.Repeat([]byte("g"), 60_000))+`"]`), wire.ReasonTooManyHops},
		"path of wrong type": {block(`"path":[]`, `"path":{}`), wire.ReasonMalformedOrigin},
		"many hops allowed":  {block(`"max_hops":1`, `"max_hops":9`), wire.ReasonTooManyHops},
	} {
		t.Run(name, func(t *testing.T) {
			withHostile(t, func(h *hostile, b *node) {
				if f := h.dial(nil); f.Type != wire.LinkHello {
					t.Fatalf("answered %q", f.Type)
				}
				h.write(frameOf(1, good(1), good(2), c.poison(3), good(4)))
				h.write(frameOf(5, good(5)))
				if diff := cmp.Diff([]frame.Refused{{Seq: 3, Reason: c.want}}, h.acked(5)); diff != "" {
					t.Errorf("refusals (-want +got):\n%s", diff)
				}
				b.with(alpha, func(l *testLane) {
					if len(l.held) != 5 || len(b.faults) > 0 {
						t.Errorf("%d records held, %v", len(l.held), b.faults)
					}
					for i, rec := range l.held {
						lane, _ := record(1)
						if refused := rec.Refuse != ""; refused != (i == 2) || rec.Origin.Hub != alpha {
							t.Errorf("record %d: refuse %q, hub %s", i+1, rec.Refuse, rec.Origin.Hub)
						}
						if rec.Origin.Epoch != lane.Epoch || rec.Origin.EpochID != lane.EpochID {
							t.Errorf("record %d moves the lane to epoch %d %x", i+1, rec.Origin.Epoch, rec.Origin.EpochID)
						}
					}
				})
				if l := b.link(t, alpha); l.State != Up {
					t.Errorf("%+v", l)
				}
				hello, _, err := frame.ParseHello(h.dial(nil), frame.Speaks(0))
				if want := laneHash(5, c.poison(3)); err != nil || hello.In.Seq != 5 || hello.In.Hash != want {
					t.Errorf("the next hello holds %+v, want hash %x, %v", hello.In, want, err)
				}
			})
		})
	}
}

// laneHash is the hash at n of alpha's lane with third in it, computed as docs/link.md has it.
func laneHash(n uint64, third frame.Record) (hash [32]byte) {
	for seq := uint64(1); seq <= n; seq++ {
		rec := good(seq)
		if seq == 3 {
			rec = third
		}
		o, err := new(frame.OriginParser).Parse(rec.Origin)
		link := o.LaneLink()
		if err != nil || o.Seq != seq {
			link = wire.LaneLink{Seq: seq, Digest: sha256.Sum256(rec.Origin)}
		}
		hash = link.Next(hash)
	}
	return hash
}

// What the link cannot make sense of ends it with its reason.
func TestProtocolErrorsEndTheLink(t *testing.T) {
	for name, c := range map[string]struct {
		send []byte
		want wire.Reason
	}{
		"a gap":           {frameOf(2, good(2)), wire.ReasonLinkProtocol},
		"second hello":    {new(frame.Hello{Versions: frame.Versions{Min: 1, Max: 1}, Hub: alpha, Link: 1, Epoch: 1}).Append(nil), wire.ReasonLinkProtocol},
		"unknown type":    {append([]byte{0, 0, 0, 17, 0, 0, 0, 0}, `{"type":"gossip"}`...), wire.ReasonLinkProtocol},
		"huge header":     {[]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, wire.ReasonFrameTooLarge},
		"huge payload":    {[]byte{0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff}, wire.ReasonFrameTooLarge},
		"sizes off":       {append(frameOf(1, good(1))[:7], 0), wire.ReasonLinkProtocol},
		"unreadable bye":  {append([]byte{0, 0, 0, 14, 0, 0, 0, 0}, `{"type":"bye"}`...), wire.ReasonLinkProtocol},
		"unreadable ack":  {append([]byte{0, 0, 0, 14, 0, 0, 0, 0}, `{"type":"ack"}`...), wire.ReasonLinkProtocol},
		"empty header":    {make([]byte, 8), wire.ReasonLinkProtocol},
		"trailing header": {append([]byte{0, 0, 0, 37, 0, 0, 0, 0}, `{"type":"bye","reason":"superseded"}1`...), wire.ReasonLinkProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			withHostile(t, func(h *hostile, b *node) {
				h.dial(nil)
				send := c.send
				if name == "sizes off" {
					send = frameOf(1, good(1))
					send[7]--
				}
				h.write(send)
				if got := h.bye(); got != c.want {
					t.Errorf("said %q, want %q", got, c.want)
				}
				_ = h.conn.Close("")
				synctest.Wait()
				if l := b.link(t, alpha); l.LastReason != c.want || l.Remote || l.LastDetail == "" {
					t.Errorf("%+v", l)
				}
				b.with(alpha, func(l *testLane) {
					if len(l.held) > 0 {
						t.Errorf("%d records held", len(l.held))
					}
				})
			})
		})
	}
}

// A hello that cannot become a link is answered with the reason, and shown.
func TestHellosThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*frame.Hello)
		want wire.Reason
	}{
		"newer relay":   {func(h *frame.Hello) { h.Versions = frame.Versions{Min: 2, Max: 3} }, wire.ReasonRelayVersion},
		"another hub":   {func(h *frame.Hello) { h.Hub = "gamma.example" }, wire.ReasonWrongHubID},
		"this hub":      {func(h *frame.Hello) { h.Hub = beta }, wire.ReasonSelfDial},
		"acked unsent":  {func(h *frame.Hello) { h.Out.Acked = 1 }, wire.ReasonRewound},
		"cursor ahead":  {func(h *frame.Hello) { h.In = frame.Position{EpochID: h.EpochID, Seq: 9} }, wire.ReasonRewound},
		"epoch of zero": {func(h *frame.Hello) { h.Epoch = 0 }, wire.ReasonLinkProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			withHostile(t, func(h *hostile, b *node) {
				f := h.dial(c.edit)
				bye, err := frame.ParseBye(f)
				if err != nil || bye.Reason != c.want {
					t.Errorf("answered %s %q, want %q", f.Type, bye.Reason, c.want)
				}
				_ = h.conn.Close("")
				synctest.Wait()
				if l := b.link(t, alpha); l.LastReason != c.want || l.State == Up {
					t.Errorf("%+v", l)
				}
			})
		})
	}
}

// A hello with this process's own instance is this process, whatever name it goes by.
func TestOwnInstanceIsASelfDial(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		f := h.dial(func(hello *frame.Hello) { hello.Instance = b.relay.greeter.instance })
		if bye, err := frame.ParseBye(f); err != nil || bye.Reason != wire.ReasonSelfDial {
			t.Errorf("answered %s %q", f.Type, bye.Reason)
		}
	})
}

// A connection that says nothing is closed in time, and a fifth one beside four of them at once.
func TestSilentConnections(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		var conns []*memConn
		for range maxGreeting + 1 {
			d, l := memPair(alpha, beta)
			h.net.port(string(beta)) <- l
			conns = append(conns, d)
			synctest.Wait()
		}
		closed := func() (n int) {
			for _, c := range conns {
				c.in.mu.Lock()
				if c.in.ended {
					n++
				}
				c.in.mu.Unlock()
			}
			return n
		}
		if n := closed(); n != 1 {
			t.Errorf("%d closed at once", n)
		}
		if !await(helloTime+time.Second, func() bool { return closed() == len(conns) }) {
			t.Errorf("%d closed in the end", closed())
		}
	})
}

// A copy of the peer, behind or beside what the peer said, is refused and does not cut the link that is up.
func TestImpostorLeavesTheLink(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*frame.Hello)
		want wire.Reason
	}{
		"behind our cursor": {func(h *frame.Hello) { h.Out = frame.Extent{Head: 1} }, wire.ReasonRewound},
		"another epoch":     {func(h *frame.Hello) { h.EpochID[0]++ }, wire.ReasonRewound},
		"acked unsent":      {func(h *frame.Hello) { h.Out.Acked = 9 }, wire.ReasonRewound},
		"cursor ahead":      {func(h *frame.Hello) { h.In = frame.Position{EpochID: h.EpochID, Seq: 9} }, wire.ReasonRewound},
	} {
		t.Run(name, func(t *testing.T) {
			withHostile(t, func(h *hostile, b *node) {
				h.dial(nil)
				h.write(frameOf(1, good(1), good(2)))
				h.acked(2)
				copied := &hostile{t: t, net: h.net, links: 7}
				bye, err := frame.ParseBye(copied.dial(func(hello *frame.Hello) {
					hello.Instance[0]++
					c.edit(hello)
				}))
				if err != nil || bye.Reason != c.want {
					t.Errorf("said %q, %v", bye.Reason, err)
				}
				_ = copied.conn.Close("")
				h.write(frameOf(3, good(3)))
				h.acked(3)
				if l := b.link(t, alpha); l.State != Up || l.Generation != 1 || l.LastReason != c.want {
					t.Errorf("%+v", l)
				}
			})
		})
	}
}
