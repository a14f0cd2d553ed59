package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// TestSlowReaderIsClosed: a full queue closes with 1013, drops the rest and tells every item once.
func TestSlowReaderIsClosed(t *testing.T) {
	for name, o := range map[string]Options{
		"by count": {QueueCount: 10},
		"by bytes": {QueueBytes: 10 * 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pipePair(t, o, ignore)
				var took []*text
				for {
					it := item("12345")
					if !p.socket.Send(it) {
						break
					}
					took = append(took, it)
				}
				if len(took) != 10 {
					t.Fatalf("took %d", len(took))
				}
				code, _, _ := closeOf(t, p.client)
				if why := <-p.ended; code != 1013 || why != wire.ReasonSlowReader {
					t.Fatal(code, why)
				}
				for i, it := range took {
					if it.yes.Load()+it.no.Load() != 1 {
						t.Fatalf("item %d was told %d times", i, it.yes.Load()+it.no.Load())
					}
				}
			})
		})
	}
}

// TestLargeItemIsTakenWhenIdle: an item above the byte bound is not unsendable for ever.
func TestLargeItemIsTakenWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{QueueBytes: 10}, ignore)
		if !p.socket.Send(item(strings.Repeat("x", 300_000))) {
			t.Fatal("refused")
		}
		if n := len(read(t, p.client)); n != 300_000 {
			t.Fatal(n)
		}
	})
}

// TestStuckPeerIsCut: a peer that takes nothing holds the writer for WriteTimeout, no longer.
func TestStuckPeerIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{PingEvery: time.Hour}, ignore)
		start := time.Now()
		it, behind := item("never read"), item("behind it")
		p.socket.Send(it)
		synctest.Wait()
		p.socket.Send(behind)
		if why := <-p.ended; why != wire.ReasonWriteFailed {
			t.Fatal(why)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Fatalf("took %v", took)
		}
		if it.no.Load() != 1 || behind.no.Load() != 1 {
			t.Fatal("not told")
		}
	})
}

// TestSlowPeerIsNotCut: a frame far larger than the connection takes within WriteTimeout passes while it moves.
func TestSlowPeerIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{PingEvery: time.Hour}, ignore)
		p.socket.Send(item(strings.Repeat("x", 1<<20)))
		_, r, err := p.client.Reader(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 32<<10)
		total := 0
		for !errors.Is(err, io.EOF) {
			time.Sleep(time.Second) // virtual: 32 KiB a second, 32 s for a timeout of 10 s
			var n int
			if n, err = io.ReadFull(r, b); err != nil && n == 0 && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			total += n
		}
		if total != 1<<20 {
			t.Fatal(total)
		}
	})
}

// TestSlowReaderDelaysNobody: while one socket's peer reads nothing, another gets its frames at once.
func TestSlowReaderDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, fine := pipePair(t, Options{QueueCount: 1000}, ignore), pipePair(t, Options{}, ignore)
		start := time.Now()
		shared := item("to both")
		refused := false
		for range 2000 {
			refused = !stuck.socket.Send(shared) || refused
			fine.socket.Send(shared)
			read(t, fine.client)
		}
		if !refused || time.Since(start) != 0 {
			t.Fatalf("refused %v, took %v", refused, time.Since(start))
		}
	})
}

// TestLostPong: a peer that does not answer a ping is closed after PingEvery + PongWait.
func TestLostPong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, ignore)
		start := time.Now()
		go func() { _, _ = io.Copy(io.Discard, p.raw) }() // takes the ping and does not answer
		if why := <-p.ended; why != wire.ReasonPingTimeout {
			t.Fatal(why)
		}
		if took := time.Since(start); took != 31*time.Second { // and a second for the close frame
			t.Fatalf("took %v", took)
		}
	})
}

// TestTrickle: a byte now and then in an unfinished message is not life.
func TestTrickle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, ignore)
		go func() { _, _ = io.Copy(io.Discard, p.raw) }()
		if _, err := p.raw.Write([]byte{0x81, 0xFE, 0x7F, 0xFF, 0, 0, 0, 0}); err != nil { // the header of a message of 32 KiB
			t.Fatal(err)
		}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				time.Sleep(time.Second)
				if _, err := p.raw.Write([]byte("x")); err != nil {
					return
				}
			}
		}()
		if why := <-p.ended; why != wire.ReasonPingTimeout {
			t.Fatal(why)
		}
		_ = p.raw.Close()
		<-stopped
	})
}

// TestPongKeepsOpen, and so does an application that is busy with a message while the pong waits.
func TestPongKeepsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := pipePair(t, Options{}, func(*Socket, []byte) error { <-release; return nil })
		clientEnded := make(chan error, 1)
		go func() {
			_, _, err := p.client.Read(context.Background())
			clientEnded <- err
		}()
		time.Sleep(time.Hour)
		if err := p.client.Write(context.Background(), websocket.MessageText, []byte("x")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		select {
		case why := <-p.ended:
			t.Fatal(why)
		default:
		}
		close(release)
		p.socket.Close(wire.ReasonSuperseded)
		<-p.ended
		<-clientEnded
	})
}

// TestPingFlood: a peer that pings and does not read fills no memory.
func TestPingFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, ignore)
		frame := append([]byte{0x89, 0x80 | 100, 0, 0, 0, 0}, make([]byte, 100)...)
		for range 20_000 {
			if _, err := p.raw.Write(frame); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := p.socket.cork.size(); n > controlBytes+200 {
			t.Fatalf("%d bytes of pongs", n)
		}
	})
}

// TestCork: frames that are ready together leave in one write, and everything leaves once nothing more is ready.
func TestCork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, ignore)
		p.socket.Send(item("first")) // holds the writer until it is read
		synctest.Wait()
		for i := range 32 {
			p.socket.Send(item(fmt.Sprint(i), "and its second frame"))
		}
		read(t, p.client)
		for i := range 32 {
			if got := read(t, p.client); got != fmt.Sprint(i) {
				t.Fatal(got)
			}
			read(t, p.client)
		}
		if n := p.meter.writes.Load(); n != 2 {
			t.Fatalf("%d writes, want 2", n)
		}
	})
}

// TestStreamIsFlushed: a long item leaves while it is made, never more than one piece ahead of the network.
func TestStreamIsFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, ignore)
		st := &stream{frames: 1000, size: 1000}
		p.socket.Send(st)
		p.socket.Send(item("behind"))
		synctest.Wait()
		if st.made > flushBytes/st.size+1 {
			t.Fatalf("made %d frames with nothing read", st.made)
		}
		for range st.frames {
			if read(t, p.client) == "behind" {
				t.Fatal("overtaken")
			}
		}
		if got := read(t, p.client); got != "behind" {
			t.Fatal(got)
		}
	})
}

type stream struct{ frames, size, made int }

func (s *stream) Frames(yield func([]byte) bool) {
	b := make([]byte, s.size)
	for s.made = 1; s.made <= s.frames && yield(b); s.made++ {
	}
}
func (s *stream) Size() int  { return 0 }
func (*stream) Written(bool) {}

// TestCloseBeforeRun: a socket that is refused at once says why.
func TestCloseBeforeRun(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := Upgrade(w, r, Options{})
		if err != nil {
			t.Error(err)
			return
		}
		s.Close(wire.ReasonHubAtCapacity)
		s.Run(r.Context(), func([]byte) error { t.Error("handed over"); return nil })
	}))
	defer srv.Close()
	c, _, err := websocket.Dial(t.Context(), srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	want, _ := wire.CloseOf(wire.ReasonHubAtCapacity)
	if code, text, _ := closeOf(t, c); code != want.Code || text != want.Text {
		t.Fatal(code, text)
	}
}

func TestContextEndsTheSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, ignore)
		p.cancel()
		code, text, _ := closeOf(t, p.client)
		if why := <-p.ended; code != 1001 || text != "" || why != wire.ReasonHubShutdown {
			t.Fatal(code, text, why)
		}
	})
}
