package hub

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"fleetrelay/hub/journal"
)

// BenchmarkHub is one hub on the real disk, 64 senders with 32 messages in
// flight each, every message to a reader of its own; clients are in the same
// process, so the figure is for profiles and not for comparison.
func BenchmarkHub(b *testing.B) {
	store, err := journal.Open(b.TempDir(), journal.Options{HubID: "hub-1"})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	private := true
	h, err := New(Options{HubID: "hub-1", Store: store, Now: time.Now, Rand: rand.Reader, PrivateDirected: &private})
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close(context.Background())
	url := "ws" + strings.TrimPrefix(srv.URL, "http")
	const senders, window = 64, 32
	each := b.N/senders + 1
	text := strings.Repeat("x", 300)
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range senders {
		wg.Go(func() { benchReader(b, url, fmt.Sprintf("r/%d", i), each) })
		wg.Go(func() { benchSender(b, url, fmt.Sprintf("s/%d", i), fmt.Sprintf("r/%d", i), text, each, window) })
	}
	wg.Wait()
	b.ReportMetric(float64(each*senders)/b.Elapsed().Seconds(), "msgs/s")
}

func benchDial(b *testing.B, url, name string) *websocket.Conn {
	ws, _, err := websocket.Dial(context.Background(), url, nil)
	if err != nil {
		b.Error(err)
		return nil
	}
	ws.SetReadLimit(1 << 20)
	_ = ws.Write(context.Background(), websocket.MessageText, []byte(fmt.Sprintf(`{"sender":%q,"type":"heartbeat","mailbox":true}`, name)))
	return ws
}

func benchReader(b *testing.B, url, name string, n int) {
	ws := benchDial(b, url, name)
	defer ws.CloseNow()
	for n > 0 {
		_, msg, err := ws.Read(context.Background())
		if err != nil {
			b.Error(err)
			return
		}
		if bytes.Contains(msg, []byte(`"type":"chat"`)) {
			i := bytes.LastIndex(msg, []byte(`"seq":`))
			ack := append([]byte(`{"sender":"`+name+`","type":"ack",`), bytes.TrimRight(msg[i:], "}")...)
			if i := bytes.IndexByte(ack[20:], ','); i < 0 {
				continue
			}
			_ = ws.Write(context.Background(), websocket.MessageText, append(bytes.Split(ack, []byte(`,"replayed"`))[0], '}'))
			n--
		}
	}
}

func benchSender(b *testing.B, url, name, to, text string, n, window int) {
	ws := benchDial(b, url, name)
	defer ws.CloseNow()
	slots := make(chan struct{}, window)
	go func() {
		for i := range n {
			slots <- struct{}{}
			_ = ws.Write(context.Background(), websocket.MessageText,
				[]byte(fmt.Sprintf(`{"sender":%q,"type":"chat","target":%q,"client_msg_id":"%d","payload":%q}`, name, to, i, text)))
		}
	}()
	for n > 0 {
		_, msg, err := ws.Read(context.Background())
		if err != nil {
			b.Error(err)
			return
		}
		if bytes.Contains(msg, []byte(`"type":"chat"`)) {
			<-slots
			n--
		}
	}
}
