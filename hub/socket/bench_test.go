package socket

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// BenchmarkFrames sends 400-byte frames over loopback, 32 ready at a time (corked: one write for all) against one at a
// time (a write each), and reports frames and writes.
func BenchmarkFrames(b *testing.B) {
	frame := strings.Repeat("x", 400)
	for _, ready := range []int{32, 1} {
		b.Run(fmt.Sprintf("ready=%d", ready), func(b *testing.B) {
			p := loopPair(b, Options{}, ignore)
			go drain(p.raw)
			round := make(chan bool, ready)
			it := item(frame)
			it.told = func(ok bool) { round <- ok }
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += ready {
				for range ready {
					p.socket.Send(it)
				}
				for range ready {
					<-round
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
			b.ReportMetric(float64(p.meter.writes.Load())/float64(b.N), "writes/frame")
		})
	}
}

func drain(c net.Conn) {
	b := make([]byte, 256<<10)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}

// BenchmarkReceive reads 400-byte messages from a client that sends as fast as it can.
func BenchmarkReceive(b *testing.B) {
	got := make(chan struct{}, 1)
	n := 0
	p := loopPair(b, Options{}, func(*Socket, []byte) error {
		if n++; n == b.N {
			got <- struct{}{}
		}
		return nil
	})
	frame := append([]byte{0x81, 0xFE, 400 >> 8, 400 & 0xFF, 0, 0, 0, 0}, make([]byte, 400)...)
	many := strings.Repeat(string(frame), 100)
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for i := 0; i < b.N+100; i += 100 {
			if _, err := p.raw.Write([]byte(many)); err != nil {
				return
			}
		}
	}()
	<-got
}

// BenchmarkIdleMemory holds 1,000 sockets that have sent and received once and reports memory for each: heap, stacks and
// what the HTTP server keeps, without the clients', which are bare connections.
func BenchmarkIdleMemory(b *testing.B) {
	const sockets = 1000
	for b.Loop() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var up, running sync.WaitGroup
		up.Add(sockets)
		running.Add(sockets)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer running.Done()
			s, err := Upgrade(w, r, Options{})
			if err != nil {
				b.Error(err)
				return
			}
			s.Run(ctx, func(m []byte) error {
				it := item(string(m))
				it.told = func(bool) { up.Done() }
				s.Send(it)
				return nil
			})
		})}
		go func() { _ = srv.Serve(l) }()
		before := inUse()
		conns := make([]net.Conn, sockets)
		for i := range conns {
			conns[i] = bareClient(b, l.Addr().String())
		}
		up.Wait()
		b.ReportMetric(float64(inUse()-before)/sockets, "B/socket")
		for _, c := range conns {
			_ = c.Close()
		}
		cancel()
		running.Wait()
		_ = srv.Close()
	}
}

func bareClient(b *testing.B, addr string) net.Conn {
	b.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	req := "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	if _, err := c.Write([]byte(req)); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 512)
	if _, err := c.Read(buf); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Write([]byte{0x81, 0x81, 0, 0, 0, 0, 'x'}); err != nil {
		b.Fatal(err)
	}
	return c
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
