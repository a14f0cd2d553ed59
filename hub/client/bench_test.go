package client_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"fleetrelay/hub/client"
	"fleetrelay/hub/wire"
)

// BenchmarkSend sends 400-byte messages in batches of 32 through the test hub, which parses each, and waits for acceptance
// of all.
func BenchmarkSend(b *testing.B) {
	h := startHub(b, &testHub{})
	c, err := client.Dial(b.Context(), client.Options{URL: h.url(), Name: "a"})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	text := strings.Repeat("x", 300)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += 32 {
		ms := make([]client.Message, 32)
		for j := range ms {
			ms[j] = client.Message{To: "p/b", Text: text}
		}
		if err := c.SendBatch(b.Context(), ms); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReceive takes 400-byte directed chats that are acknowledged, from the test hub.
func BenchmarkReceive(b *testing.B) {
	h := startHub(b, &testHub{})
	var n atomic.Int64
	all := make(chan struct{})
	c, err := client.Dial(b.Context(), client.Options{URL: h.url(), Name: "b", Mailbox: true, OnEvent: func(ev client.Event) {
		if _, ok := ev.(client.Chat); ok && n.Add(1) == int64(b.N) {
			close(all)
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	h.mu.Lock()
	sock := h.names["b"].sock
	h.mu.Unlock()
	f := wire.ChatFrame{Sender: "a", Target: "b", HasTarget: true, HubID: "hub-1", Body: []byte(`{"payload":"` + strings.Repeat("x", 300) + `"}`)}
	b.ReportAllocs()
	b.ResetTimer()
	room := make(chan struct{}, 512)
	for i := range b.N {
		f.Seq, f.MsgID = uint64(i+1), uint64(i+1)
		room <- struct{}{}
		sock.Send(throttled{one(f.Append(nil)), room})
	}
	<-all
}

type throttled struct {
	one
	room chan struct{}
}

func (t throttled) Written(bool) { <-t.room }
