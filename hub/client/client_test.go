package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetrelay/hub/client"
	"fleetrelay/hub/wire"
)

func TestSendAndReceive(t *testing.T) {
	for _, token := range []string{"", "t0ken"} {
		t.Run("token="+token, func(t *testing.T) {
			h := startHub(t, &testHub{token: token})
			a, alog := dial(t, h, client.Options{Name: "p/a", Roles: []string{"p/role"}, Wake: "direct"})
			b, blog := dial(t, h, client.Options{Name: "p/b", Mailbox: true})
			acc, err := a.SendAccepted(t.Context(), client.Message{To: "p/b", Text: "hello", Extra: []wire.Member{{Name: "priority", Value: wire.Raw("true")}}})
			if err != nil || acc.Seq == 0 || acc.HubID != "hub-1" {
				t.Fatalf("%+v %v", acc, err)
			}
			blog.until(t, "chat", func(evs []client.Event) bool { return len(of[client.Chat](evs)) == 1 })
			got := of[client.Chat](blog.all())[0]
			if extra, _ := got.Raw.Get("priority"); got.Sender != "p/a" || !got.Directed || !got.Addressed || got.Seq != acc.Seq ||
				got.ClientMsgID != acc.ClientMsgID || string(got.Payload) != `"hello"` || string(extra) != "true" {
				t.Fatalf("%+v", got)
			}
			if n := len(of[client.Accepted](alog.all())); n != 1 {
				t.Fatalf("%d own copies told", n)
			}
			who, err := b.Who(t.Context())
			if err != nil || !slices.Equal(who.Online, []string{"p/b"}) {
				t.Fatal(who, err)
			}
			waitAcked(t, h, b, acc.Seq)
			if b.Cursor() != (client.Cursor{HubID: "hub-1", Seq: acc.Seq}) {
				t.Fatal(b.Cursor())
			}
			for _, s := range append(alog.frames(), blog.frames()...) {
				if strings.Contains(s, "t0ken") {
					t.Fatal("a recorder saw the token")
				}
			}
			if hb := h.heard[0]; hb.Wake != "direct" || !slices.Equal(hb.Roles, []string{"p/role"}) {
				t.Fatalf("%+v", hb)
			}
		})
	}
}

// waitAcked waits until the hub has the acknowledgement: a query's answer comes after it.
func waitAcked(t *testing.T, h *testHub, c *client.Client, seq uint64) {
	t.Helper()
	for !slices.Contains(h.ackedSeqs(), seq) {
		if _, err := c.Who(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestResend: messages in flight when the connection is cut are accepted once each in the sender's order, as a receiver
// that deduplicates sees it.
func TestResend(t *testing.T) {
	for _, tc := range []struct {
		name string
		cut  func(*plan, int)
	}{
		{"cut before taking it", func(p *plan, n int) { p.cutBefore = n }},
		{"cut after taking it", func(p *plan, n int) { p.cutAfter = n }},
	} {
		for _, at := range []int{1, 7, 20} {
			t.Run(fmt.Sprint(tc.name, " ", at), func(t *testing.T) {
				h := startHub(t, &testHub{})
				a, _ := dial(t, h, client.Options{Name: "a"})
				_, blog := dial(t, h, client.Options{Name: "b", Mailbox: true})
				h.set(func(p *plan) { tc.cut(p, at) })
				var want []string
				for i := range 20 {
					want = append(want, fmt.Sprint(i))
					if _, err := a.Send(t.Context(), client.Message{To: "b", Text: want[i]}); err != nil {
						t.Fatal(err)
					}
				}
				if err := a.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				blog.until(t, "last chat", func(evs []client.Event) bool { return slices.Contains(chatTexts(evs), "19") })
				if diff := cmp.Diff(want, chatTexts(blog.all())); diff != "" {
					t.Fatal(diff)
				}
				if a.Stats().Connections != 2 {
					t.Fatalf("%+v", a.Stats())
				}
			})
		}
	}
}

// TestRecipientReconnects: what was missed is replayed from the cursor, repeats are told once, and acknowledgements are
// repeated on the new connection.
func TestRecipientReconnects(t *testing.T) {
	h := startHub(t, &testHub{})
	h.set(func(p *plan) { p.twice = true })
	a, _ := dial(t, h, client.Options{Name: "a"})
	b, blog := dial(t, h, client.Options{Name: "b", Mailbox: true})
	first, err := a.SendAccepted(t.Context(), client.Message{To: "b", Text: "first"})
	if err != nil {
		t.Fatal(err)
	}
	waitAcked(t, h, b, first.Seq)
	before := len(h.ackedSeqs())
	h.drop(wire.ReasonHubShutdown)
	if _, err := a.SendAccepted(t.Context(), client.Message{To: "b", Text: "second"}); err != nil {
		t.Fatal(err)
	}
	blog.until(t, "second", func(evs []client.Event) bool { return slices.Contains(chatTexts(evs), "second") })
	if got := chatTexts(blog.all()); !slices.Equal(got, []string{"first", "second"}) {
		t.Fatal(got)
	}
	if _, err := b.Who(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := h.ackedSeqs()[before:]; !slices.Contains(again, first.Seq) {
		t.Fatalf("not acknowledged again: %v", again)
	}
	if b.Stats().Duplicates == 0 {
		t.Fatal("no repeat was counted")
	}
}

// TestRetriesAreToldOnce: the same message under two sequence numbers.
func TestRetriesAreToldOnce(t *testing.T) {
	h := startHub(t, &testHub{})
	a, _ := dial(t, h, client.Options{Name: "a"})
	b, blog := dial(t, h, client.Options{Name: "b", Mailbox: true})
	var last client.Accepted
	for range 3 {
		var err error
		if last, err = a.SendAccepted(t.Context(), client.Message{To: "b", Text: "same", ClientMsgID: "retry-1"}); err != nil {
			t.Fatal(err)
		}
	}
	waitAcked(t, h, b, last.Seq) // the repeats are acknowledged too
	if got := chatTexts(blog.all()); !slices.Equal(got, []string{"same"}) {
		t.Fatal(got)
	}
}

// TestNumberGivenTwice: a hub whose journal was put back gives a number again; what it then means is no repeat, neither for
// the sender, who would wait for ever, nor for the receiver.
func TestNumberGivenTwice(t *testing.T) {
	h := startHub(t, &testHub{})
	a, _ := dial(t, h, client.Options{Name: "a"})
	_, blog := dial(t, h, client.Options{Name: "b", Mailbox: true})
	first, err := a.SendAccepted(t.Context(), client.Message{To: "b", Text: "before"})
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.seq, h.chats = 0, nil
	h.mu.Unlock()
	again, err := a.SendAccepted(t.Context(), client.Message{To: "b", Text: "after"})
	if err != nil || again.Seq != first.Seq {
		t.Fatal(again, err)
	}
	blog.until(t, "both", func(evs []client.Event) bool { return slices.Equal(chatTexts(evs), []string{"before", "after"}) })
}

func TestRefusals(t *testing.T) {
	h := startHub(t, &testHub{})
	h.set(func(p *plan) {
		p.refuse = func(c *wire.Chat) (bool, bool) {
			return c.Target == "refused", c.Target == "refused" || c.Target == "ignored"
		}
	})
	a, _ := dial(t, h, client.Options{Name: "a"})
	var refused *client.RefusedError
	if _, err := a.SendAccepted(t.Context(), client.Message{To: "refused"}); !errors.As(err, &refused) || refused.Code != wire.ReasonNotPermitted {
		t.Fatal(err)
	}
	passed := make(chan error, 1)
	go func() {
		_, err := a.SendAccepted(t.Context(), client.Message{To: "ignored"})
		passed <- err
	}()
	for a.Outstanding() == 0 {
		if _, err := a.Who(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.SendAccepted(t.Context(), client.Message{To: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := <-passed; !errors.Is(err, client.ErrUnanswered) {
		t.Fatal(err)
	}
}

func TestReceiptIsAcceptance(t *testing.T) {
	h := startHub(t, &testHub{})
	h.set(func(p *plan) { p.loseCopies = true })
	a, alog := dial(t, h, client.Options{Name: "a"})
	got := make(chan client.Accepted, 1)
	go func() {
		acc, _ := a.SendAccepted(t.Context(), client.Message{To: "b", ClientMsgID: "id-1", ReceiptRequested: true})
		got <- acc
	}()
	for len(h.texts()) == 0 {
		if _, err := a.Who(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r := wire.Receipt{HubID: "hub-1", Target: "a", MessageTarget: "b", MessageID: 1, MessageSeq: 2, ClientMsgID: "id-1", NotificationID: wire.ReceiptNotificationID(2, "immediate_delivered")}
	h.mu.Lock()
	for range 2 {
		h.names["a"].sock.Send(one(r.Append(nil)))
	}
	h.mu.Unlock()
	if acc := <-got; acc.Seq != 2 || acc.ClientMsgID != "id-1" {
		t.Fatalf("%+v", acc)
	}
	if _, err := a.Who(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(of[client.Receipt](alog.all())); n != 1 {
		t.Fatalf("the receipt was told %d times", n)
	}
}

func TestYields(t *testing.T) {
	for _, reason := range []wire.Reason{wire.ReasonSuperseded, wire.ReasonTakeoverCooldown, wire.ReasonTakeoverQuarantine, wire.ReasonAuthDenied, wire.ReasonReservedIdentity} {
		t.Run(string(reason), func(t *testing.T) {
			h := startHub(t, &testHub{})
			a, alog := dial(t, h, client.Options{Name: "a"})
			h.drop(reason)
			<-a.Done()
			var ce *client.ClosedError
			if err := a.Err(); !errors.As(err, &ce) || ce.Closed.Reason != reason || !ce.Closed.Yield {
				t.Fatal(err)
			}
			if got := of[client.Closed](alog.all()); len(got) != 1 || got[0] != ce.Closed {
				t.Fatal(got)
			}
			if _, err := a.Send(t.Context(), client.Message{To: "b"}); !errors.Is(err, client.ErrClosed) || !errors.Is(err, client.ErrNotSent) {
				t.Fatal(err)
			}
		})
	}
}

func TestReconnects(t *testing.T) {
	for _, reason := range []wire.Reason{wire.ReasonHubShutdown, wire.ReasonSlowReader, wire.ReasonInternalError, wire.ReasonHubAtCapacity} {
		t.Run(string(reason), func(t *testing.T) {
			h := startHub(t, &testHub{})
			a, alog := dial(t, h, client.Options{Name: "a"})
			h.drop(reason)
			if _, err := a.SendAccepted(t.Context(), client.Message{To: "b", Text: "after"}); err != nil {
				t.Fatal(err)
			}
			if got := of[client.Closed](alog.all()); len(got) != 1 || got[0].Reason != reason || got[0].Yield {
				t.Fatal(got)
			}
		})
	}
}

func TestDialRefused(t *testing.T) {
	h := startHub(t, &testHub{token: "right"})
	_, err := client.Dial(t.Context(), client.Options{URL: h.url(), Name: "a", Token: "wrong"})
	var ce *client.ClosedError
	if !errors.As(err, &ce) || ce.Closed.Reason != wire.ReasonAuthDenied {
		t.Fatal(err)
	}
	dial(t, h, client.Options{Name: "a"})
	if _, err := client.Dial(t.Context(), client.Options{URL: h.url(), Name: "a", Token: "right"}); !errors.As(err, &ce) || ce.Closed.Reason != wire.ReasonNameConflict {
		t.Fatal(err)
	}
	if _, err := client.Dial(t.Context(), client.Options{URL: "ws://127.0.0.1:1", Name: "a"}); !errors.As(err, &ce) || ce.Closed.Reason != wire.ReasonConnectionLost {
		t.Fatal(err)
	}
}

func TestTakeover(t *testing.T) {
	h := startHub(t, &testHub{})
	old, _ := dial(t, h, client.Options{Name: "a"})
	next, _ := dial(t, h, client.Options{Name: "a", Takeover: true})
	<-old.Done()
	if _, err := next.SendAccepted(t.Context(), client.Message{Text: "mine now"}); err != nil {
		t.Fatal(err)
	}
}

// TestOtherHub: positions of one hub mean nothing on another.
func TestOtherHub(t *testing.T) {
	for _, token := range []string{"", "t0ken"} {
		h := startHub(t, &testHub{id: "hub-2", token: token})
		a, _ := dial(t, h, client.Options{Name: "a"})
		if _, err := a.SendAccepted(t.Context(), client.Message{To: "b", Text: "kept"}); err != nil {
			t.Fatal(err)
		}
		_, blog := dial(t, h, client.Options{Name: "b", Mailbox: true, SinceHub: "hub-1", SinceSeq: 1000})
		blog.until(t, "replay", func(evs []client.Event) bool { return len(chatTexts(evs)) == 1 })
		_, clog := dial(t, h, client.Options{Name: "c", Mailbox: true, SinceHub: "hub-2", SinceSeq: 1000})
		if n := len(of[client.Chat](clog.all())); n != 0 {
			t.Fatal("replayed past the cursor")
		}
	}
}

func TestMessageChecks(t *testing.T) {
	h := startHub(t, &testHub{})
	a, _ := dial(t, h, client.Options{Name: "a"})
	for name, m := range map[string]client.Message{
		"text not UTF-8":     {Text: "\xff"},
		"payload not JSON":   {Payload: wire.Raw("{")},
		"payload two values": {Payload: wire.Raw(`1,"x":2`)},
		"extra reserved":     {Extra: []wire.Member{{Name: "sender", Value: wire.Raw(`"x"`)}}},
		"extra twice":        {Extra: []wire.Member{{Name: "x", Value: wire.Raw(`1`)}, {Name: "x", Value: wire.Raw(`1`)}}},
		"extra hub-owned":    {Extra: []wire.Member{{Name: "seq", Value: wire.Raw(`1`)}}},
		"extra two members":  {Extra: []wire.Member{{Name: "x", Value: wire.Raw(`1,"y":2`)}}},
		"id with control":    {ClientMsgID: "a\nb"},
		"id with space":      {ClientMsgID: " a"},
		"id too long":        {ClientMsgID: strings.Repeat("x", 257)},
		"too large":          {Text: strings.Repeat("x", 1<<20)},
	} {
		if _, err := a.Send(t.Context(), m); !errors.Is(err, client.ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := client.Message{To: "a", Text: strings.Repeat("x", 1<<20-300), ClientMsgID: strings.Repeat("x", 128)}
	if _, err := a.SendAccepted(t.Context(), large); err != nil {
		t.Fatal(err)
	}
}

func TestBounds(t *testing.T) {
	h := startHub(t, &testHub{})
	h.set(func(p *plan) { p.loseCopies = true })
	a, _ := dial(t, h, client.Options{Name: "a", MaxOutstanding: 3})
	for range 3 {
		if _, err := a.Send(t.Context(), client.Message{Text: "x", ClientMsgID: ""}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := a.Send(ctx, client.Message{Text: "x"}); !errors.Is(err, client.ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if a.Outstanding() != 3 {
		t.Fatal(a.Outstanding())
	}
	_ = a.Close()
	_ = a.Close()
	if a.Outstanding() != 0 || !errors.Is(a.Err(), client.ErrClosed) {
		t.Fatal(a.Outstanding(), a.Err())
	}
}

// TestStopDuringEvent: what the application had not finished is not acknowledged and comes again.
func TestStopDuringEvent(t *testing.T) {
	h := startHub(t, &testHub{})
	a, _ := dial(t, h, client.Options{Name: "a"})
	if _, err := a.SendAccepted(t.Context(), client.Message{To: "b", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	var b *client.Client
	got := make(chan struct{})
	start := make(chan struct{})
	b, _ = dial(t, h, client.Options{Name: "b", Mailbox: true, OnEvent: func(ev client.Event) {
		if _, ok := ev.(client.Chat); ok {
			<-start
			b.Stop()
			close(got)
		}
	}})
	close(start)
	<-got
	<-b.Done()
	if len(h.ackedSeqs()) != 0 || b.Cursor().Seq != 0 {
		t.Fatal(h.ackedSeqs(), b.Cursor())
	}
}
