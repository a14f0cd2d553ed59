package socket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"fleetrelay/hub/wire"
)

func closeErr(t testing.TB, err error, messages int) (int, string, int) {
	t.Helper()
	var ce websocket.CloseError
	if !errors.As(err, &ce) {
		t.Fatalf("no close frame: %v", err)
	}
	return int(ce.Code), ce.Reason, messages
}

func TestEcho(t *testing.T) {
	p := loopPair(t, Options{}, func(s *Socket, b []byte) error { s.Send(item(string(b))); return nil })
	ctx := context.Background()
	for i, typ := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
		want := fmt.Sprintf(`{"n":%d}`, i)
		if err := p.client.Write(ctx, typ, []byte(want)); err != nil {
			t.Fatal(err)
		}
		typ, got, err := p.client.Read(ctx)
		if err != nil || typ != websocket.MessageText || string(got) != want {
			t.Fatalf("got %v %q %v", typ, got, err)
		}
	}
	if err := p.client.Close(websocket.StatusNormalClosure, "bye"); err != nil {
		t.Fatal(err)
	}
	if why := <-p.ended; why != wire.ReasonClientClosed {
		t.Fatal(why)
	}
}

func TestOrderAndWritten(t *testing.T) {
	p := loopPair(t, Options{}, ignore)
	var items []*text
	for i := range 500 {
		items = append(items, item(fmt.Sprint(i, "a"), fmt.Sprint(i, "b")))
		if !p.socket.Send(items[i]) {
			t.Fatal("refused")
		}
	}
	for i := range items {
		for _, part := range []string{"a", "b"} {
			if got, want := read(t, p.client), fmt.Sprint(i, part); got != want {
				t.Fatalf("got %q want %q", got, want)
			}
		}
	}
	p.socket.Close(wire.ReasonHubShutdown)
	closeOf(t, p.client)
	<-p.ended
	for i, it := range items {
		if it.yes.Load() != 1 || it.no.Load() != 0 {
			t.Fatalf("item %d was told %d times yes, %d times no", i, it.yes.Load(), it.no.Load())
		}
	}
}

func TestCloseFrames(t *testing.T) {
	superseded, _ := wire.CloseOf(wire.ReasonSuperseded)
	for _, tc := range []struct {
		reason wire.Reason
		code   int
		text   string
	}{
		{wire.ReasonHubShutdown, 1001, ""},
		{wire.ReasonSuperseded, superseded.Code, superseded.Text},
		{wire.ReasonPingTimeout, 1011, "ping timeout"},
		{wire.ReasonClientClosed, 1000, ""},
	} {
		t.Run(string(tc.reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pipePair(t, Options{}, ignore)
				want := 3
				for range want {
					p.socket.Send(item("queued before the close"))
				}
				if tc.reason == wire.ReasonPingTimeout {
					synctest.Wait()
					want = 1 // the one being written
				}
				p.socket.Close(tc.reason)
				p.socket.Close(wire.ReasonSlowReader) // only the first counts
				code, text, n := closeOf(t, p.client)
				got := []any{code, text, <-p.ended}
				if diff := cmp.Diff([]any{tc.code, tc.text, tc.reason}, got); diff != "" {
					t.Fatal(diff)
				}
				if n < want {
					t.Fatalf("%d frames before the close, want %d", n, want)
				}
				if p.socket.Send(item("late")) {
					t.Fatal("took an item after the close")
				}
			})
		})
	}
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, ignore)
		stuck := item("never read")
		p.socket.Send(stuck)
		start := time.Now()
		p.socket.Close(wire.ReasonSuperseded)
		if why := <-p.ended; why != wire.ReasonSuperseded {
			t.Fatal(why)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Fatalf("took %v", took)
		}
		if stuck.no.Load() != 1 || stuck.yes.Load() != 0 {
			t.Fatal("the stuck item was not told once that it failed")
		}
	})
}

func TestTooLarge(t *testing.T) {
	for _, size := range []int{1000, 1001} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan int, 1)
				p := pipePair(t, Options{ReadLimit: 1000}, func(_ *Socket, b []byte) error { got <- len(b); return nil })
				sent := make(chan error, 1)
				go func() {
					sent <- p.client.Write(context.Background(), websocket.MessageText, []byte(strings.Repeat("x", size)))
				}()
				if size <= 1000 {
					if n := <-got; n != size {
						t.Fatal(n)
					}
					<-sent
					return
				}
				code, _, _ := closeOf(t, p.client)
				<-sent
				if why := <-p.ended; code != 1009 || why != wire.ReasonMessageTooLarge {
					t.Fatal(code, why)
				}
			})
		})
	}
}

func TestHandlerErrorCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, func(*Socket, []byte) error { return errors.New("broken") })
		if err := p.client.Write(context.Background(), websocket.MessageText, []byte("x")); err != nil {
			t.Fatal(err)
		}
		code, _, _ := closeOf(t, p.client)
		if why := <-p.ended; code != 1011 || why != wire.ReasonInternalError {
			t.Fatal(code, why)
		}
	})
}

func TestConnectionLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipePair(t, Options{}, ignore)
		it := item("x")
		p.socket.Send(it)
		synctest.Wait()
		_ = p.raw.Close()
		if why := <-p.ended; why != wire.ReasonConnectionLost {
			t.Fatal(why)
		}
		if it.no.Load() != 1 {
			t.Fatal("not told")
		}
	})
}
