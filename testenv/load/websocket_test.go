package load

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestWebSocketEchoes holds the lean client against a full implementation: every form of length, a ping in between, an end.
func TestWebSocketEchoes(t *testing.T) {
	done := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done <- echo(w, r)
	}))
	defer server.Close()
	ws, err := dialWebSocket(t.Context(), strings.TrimPrefix(server.URL, "http://"), generatorBuffer)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.close()
	var buf []byte
	for _, size := range []int{0, 1, 125, 126, 65535, 65536, 1 << 20} {
		message := bytes.Repeat([]byte("x"), size)
		if err := errors.Join(ws.write(message), ws.flush()); err != nil {
			t.Fatal(err)
		}
		if buf, err = ws.read(buf); err != nil || !bytes.Equal(buf, message) {
			t.Fatalf("%d bytes came back as %d, %v", size, len(buf), err)
		}
	}
	if err := errors.Join(ws.write([]byte("end")), ws.flush()); err != nil {
		t.Fatal(err)
	}
	if _, err := ws.read(buf); err == nil || !strings.Contains(err.Error(), "4001 enough") {
		t.Errorf("the end reads as %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// echo answers each message with a ping and the message, until one says end.
func echo(w http.ResponseWriter, r *http.Request) error {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return err
	}
	defer ws.CloseNow()
	ws.SetReadLimit(maxMessage)
	for {
		kind, message, err := ws.Read(r.Context())
		if err != nil {
			return err
		}
		if string(message) == "end" {
			return ws.Close(4001, "enough")
		}
		pinged := make(chan error, 1)
		go func() { pinged <- ws.Ping(r.Context()) }()
		if err := ws.Write(r.Context(), kind, message); err != nil {
			return err
		}
		go func() { <-pinged }()
	}
}

func TestWebSocketRefusesWhatIsNoUpgrade(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := dialWebSocket(t.Context(), strings.TrimPrefix(server.URL, "http://"), generatorBuffer); err == nil {
		t.Error("404 is taken for a WebSocket")
	}
}
