package faults

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is a program behind a front and a caller of it.
type pair struct {
	t              *testing.T
	wire           *Wire
	caller, target *net.UDPConn
	front          net.Addr
}

func newPair(t *testing.T, w *Wire) *pair {
	t.Helper()
	p := &pair{t: t, wire: w, caller: socket(t), target: socket(t)}
	addr, err := w.Front(p.target.LocalAddr().String(), Forth)
	if err != nil {
		t.Fatal(err)
	}
	if p.front, err = net.ResolveUDPAddr("udp", addr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func socket(t *testing.T) *net.UDPConn {
	t.Helper()
	s, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (p *pair) send(packet []byte) {
	p.t.Helper()
	if _, err := p.caller.WriteTo(packet, p.front); err != nil {
		p.t.Fatal(err)
	}
}

// read is the next packet at a socket, nil when none comes.
func (p *pair) read(s *net.UDPConn, patience time.Duration) ([]byte, net.Addr) {
	p.t.Helper()
	buf := make([]byte, maxPacket)
	if err := s.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	n, from, err := s.ReadFrom(buf)
	if err != nil {
		return nil, nil
	}
	return buf[:n], from
}

// settled waits until the wire has dealt with so many packets of a direction.
func (p *pair) settled(d Direction, packets uint64) Stats {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		s := p.wire.Stats(d)
		out := s.Passed + s.Lost + s.Dark + s.Overflow + s.Failures - s.Doubled
		if s.Packets == packets && out == packets {
			return s
		}
	}
	p.t.Fatalf("the wire did not settle: %+v", p.wire.Stats(d))
	return Stats{}
}

func numbered(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

const (
	soon  = 5 * time.Second        // what comes, comes within it
	never = 100 * time.Millisecond // what must not come has not come after it
)

func TestPassesBothWaysInOrder(t *testing.T) {
	p := newPair(t, New(1, Plan{Delay: time.Millisecond, Jitter: time.Millisecond}))
	const packets = 200
	for i := range packets {
		p.send(numbered(i))
	}
	for i := range packets {
		got, from := p.read(p.target, soon)
		if !bytes.Equal(got, numbered(i)) {
			t.Fatalf("packet %d is %x", i, got)
		}
		if _, err := p.target.WriteTo(got, from); err != nil {
			t.Fatal(err)
		}
	}
	for i := range packets {
		if got, from := p.read(p.caller, soon); !bytes.Equal(got, numbered(i)) || from.String() != p.front.String() {
			t.Fatalf("answer %d is %x from %v", i, got, from)
		}
	}
}

// TestPlanStrikes sends packets over a bad network: the shares are about right, and what was counted is what happened.
func TestPlanStrikes(t *testing.T) {
	p := newPair(t, New(7, Plan{Loss: 0.1, Duplicate: 0.1, Reorder: 0.1, Late: 3 * time.Millisecond}))
	const packets = 1000
	got := map[uint32]int{}
	overtaken, highest := 0, uint32(0)
	for i := range packets {
		p.send(numbered(i))
		if i%50 == 49 {
			p.settled(Forth, uint64(i+1)) // so that no socket overflows
		}
	}
	s := p.settled(Forth, packets)
	for range s.Passed {
		packet, _ := p.read(p.target, soon)
		n := binary.BigEndian.Uint32(packet)
		got[n]++
		if n < highest {
			overtaken++
		}
		highest = max(highest, n)
	}
	missing, twice := 0, 0
	for i := range uint32(packets) {
		switch got[i] {
		case 0:
			missing++
		case 2:
			twice++
		}
	}
	if uint64(missing) != s.Lost || uint64(twice) != s.Doubled || overtaken == 0 {
		t.Errorf("missing %d, twice %d, overtaken %d; counted %+v", missing, twice, overtaken, s)
	}
	for _, n := range []uint64{s.Lost, s.Doubled, s.Held} {
		if n < packets/20 || n > packets/5 {
			t.Errorf("a share of a tenth struck %d times in %d", n, packets)
		}
	}
}

// TestCutIsExact holds that the bytes of a direction that pass before a cut are exactly as many as it says, that the wire
// is dark both ways then, and that mending it is enough.
func TestCutIsExact(t *testing.T) {
	w := New(1, Plan{})
	p := newPair(t, w)
	for _, at := range []int64{0, 1, 99, 100, 101, 250, 1000} {
		before := w.Stats(Forth)
		cut := w.CutAfter(Forth, at)
		packets := uint64(at/100 + 2)
		for range packets {
			p.send(make([]byte, 100))
		}
		p.settledSince(before, packets)
		arrived := int64(0)
		select {
		case <-cut:
		default:
			t.Errorf("cut after %d bytes: it has not happened", at)
		}
		for {
			packet, from := p.read(p.target, never)
			if packet == nil {
				break
			}
			arrived += int64(len(packet))
			if _, err := p.target.WriteTo(packet, from); err != nil {
				t.Fatal(err)
			}
		}
		if arrived != at {
			t.Errorf("cut after %d bytes: %d passed", at, arrived)
		}
		if got, _ := p.read(p.caller, never); got != nil {
			t.Errorf("cut after %d bytes: an answer came through the dark", at)
		}
		w.Mend()
		p.send([]byte("mended"))
		if got, _ := p.read(p.target, soon); string(got) != "mended" {
			t.Errorf("after mending came %q", got)
		}
	}
}

// settledSince waits until so many more packets have come in.
func (p *pair) settledSince(before Stats, packets uint64) Stats {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if s := p.wire.Stats(Forth); s.Packets-before.Packets == packets {
			return s
		}
	}
	p.t.Fatalf("%d packets did not come in: %+v", packets, p.wire.Stats(Forth))
	return Stats{}
}

// TestDarknessDropsWhatIsUnderWay darkens the wire while packets wait in it.
func TestDarknessDropsWhatIsUnderWay(t *testing.T) {
	p := newPair(t, New(1, Plan{Delay: 20 * time.Millisecond}))
	p.send([]byte("too late"))
	p.settledSince(Stats{}, 1)
	p.wire.Darken()
	if got, _ := p.read(p.target, never); got != nil {
		t.Errorf("%q came through the dark", got)
	}
	if s := p.wire.Stats(Forth); s.Dark != 1 {
		t.Errorf("counted %+v", s)
	}
}

// TestFates holds that a fate depends on seed, direction and number alone.
func TestFates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		changed := rapid.IntRange(0, 50).Draw(t, "packets before the plan changes")
		draw := func(seed uint64, d Direction, before Plan) (all []fate) {
			l := newLot(seed, d)
			for i := range 100 {
				plan := Bad()
				if i < changed {
					plan = before
				}
				all = append(all, l.draw(plan))
			}
			return all
		}
		one, two := draw(seed, Forth, Bad()), draw(seed, Forth, Bad())
		if !slices.Equal(one, two) {
			t.Fatal("one seed has two fates")
		}
		if !slices.Equal(one[changed:], draw(seed, Forth, Plan{})[changed:]) {
			t.Fatal("another plan before moves the fates after it")
		}
		if slices.Equal(one, draw(seed, Back, Bad())) || slices.Equal(one, draw(seed+1, Forth, Bad())) {
			t.Fatal("another direction or seed has the same fates")
		}
	})
}

// TestQueueKeepsOrder holds the queue to a naive twin: what is held comes by its time, all else in the order it came in.
func TestQueueKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, now := newQueue(), time.Unix(1_800_000_000, 0)
		n := rapid.IntRange(1, 50).Draw(t, "packets")
		held := map[byte]bool{}
		for i := range n {
			var extra time.Duration
			if held[byte(i)] = rapid.Bool().Draw(t, "held"); held[byte(i)] {
				extra = 5 * time.Millisecond
			}
			q.add(now, item{packet: []byte{byte(i)}}, time.Duration(rapid.IntRange(0, 3000).Draw(t, "wait"))*time.Microsecond, extra)
			now = now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "gap")) * time.Microsecond)
		}
		due, _, _ := q.take(now.Add(time.Hour))
		if len(due) != n {
			t.Fatalf("%d of %d came out", len(due), n)
		}
		last := -1
		for i, it := range due {
			if i > 0 && it.due.Before(due[i-1].due) {
				t.Fatal("a packet comes before it is due")
			}
			if number := int(it.packet[0]); !held[it.packet[0]] {
				if number < last {
					t.Fatalf("packet %d comes after %d, and nobody held it", number, last)
				}
				last = number
			}
		}
	})
}

func TestCloseTwice(t *testing.T) {
	w := New(1, Bad())
	p := newPair(t, w)
	p.send([]byte("x"))
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Front("127.0.0.1:1", Forth); err == nil {
		t.Error("a closed wire opened a front")
	}
}
