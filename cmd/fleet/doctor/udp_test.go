package doctor

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen is a UDP socket that is answered from by reply, for each packet that comes; nil answers are not sent.
func listen(t *testing.T, reply func(packet []byte) [][]byte) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		packet := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(packet)
			if err != nil {
				return
			}
			for _, answer := range reply(packet[:n]) {
				if _, err := c.WriteTo(answer, from); err != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return c.LocalAddr().String()
}

// versions answers as a QUIC server does: the two ids change places, the version is 0.
func versions(packet []byte) []byte {
	answer := []byte{0x80, 0, 0, 0, 0, 8}
	answer = append(append(answer, packet[15:23]...), 8)
	answer = append(answer, packet[6:14]...)
	return append(answer, 0, 0, 0, 1)
}

func TestReach(t *testing.T) {
	altered := func(packet []byte, at int) []byte {
		answer := versions(packet)
		answer[at] ^= 0x80
		return answer
	}
	var asked atomic.Int32
	addr := listen(t, func(packet []byte) [][]byte {
		if len(packet) != probeBytes {
			t.Errorf("asked with %d bytes", len(packet))
		}
		if asked.Add(1) == 1 {
			return nil // lost
		}
		// What is not the answer is passed over: short, of a short header, of a version, of other ids.
		return [][]byte{{}, {0x80}, altered(packet, 0), altered(packet, 1), altered(packet, 6), altered(packet, 15), versions(packet)[:22], versions(packet)}
	})
	took, err := reach(t.Context(), addr)
	if err != nil || took <= 0 || took > probePatience || asked.Load() != 2 {
		t.Errorf("%v, %v after %d questions", took, err, asked.Load())
	}
}

func TestReachAnswers(t *testing.T) {
	p := newProbe()
	whole := versions(p.question)
	if !p.answeredBy(whole) {
		t.Fatal("the answer is none")
	}
	if newProbe().answeredBy(whole) {
		t.Error("the answer to one question answers another")
	}
	for i := range 1 + len(p.answer) {
		if p.answeredBy(whole[:i]) {
			t.Errorf("%d bytes of it are one", i)
		}
		wrong := slices.Clone(whole)
		wrong[i] ^= 0x80
		if p.answeredBy(wrong) {
			t.Errorf("it is one with byte %d altered", i)
		}
	}
}

func TestReachNobody(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := reach(t.Context(), c.LocalAddr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	addr := listen(t, func([]byte) [][]byte { return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := reach(ctx, addr); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
