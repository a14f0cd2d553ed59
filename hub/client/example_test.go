package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"fleetrelay/hub/client"
	"fleetrelay/hub/wire"
)

// exampleHub is a small hub to speak to.
func exampleHub() (url string, stop func()) {
	h := startHub(exampleTB{}, &testHub{})
	return h.url(), h.stop
}

type exampleTB struct{ testing.TB }

func (exampleTB) Helper()        {}
func (exampleTB) Cleanup(func()) {}
func (exampleTB) Fatal(args ...any) {
	slog.Error(fmt.Sprint(args...))
}

// A sender waits until its message is accepted.
func ExampleClient_SendAccepted() {
	url, stop := exampleHub()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{URL: url, Name: "proj/seat"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	accepted, err := c.SendAccepted(ctx, client.Message{
		To: "proj/other", Text: "ready for review", ClientMsgID: "review-17",
		Extra: []wire.Member{{Name: "priority", Value: wire.Raw("true")}},
	})
	fmt.Println(accepted.HubID, accepted.ClientMsgID, accepted.Seq > 0, err)
	// Output: hub-1 review-17 true <nil>
}

// A recipient gets what came while it was away, is told each chat once, and goes on from its cursor the next time.
func ExampleDial() {
	url, stop := exampleHub()
	defer stop()
	ctx := context.Background()
	sender, err := client.Dial(ctx, client.Options{URL: url, Name: "proj/seat"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sender.Close()
	cursor := client.Cursor{}
	for _, text := range []string{"first", "second"} {
		if _, err := sender.SendAccepted(ctx, client.Message{To: "proj/other", Text: text}); err != nil {
			fmt.Println(err)
			return
		}
		got := make(chan struct{})
		recipient, err := client.Dial(ctx, client.Options{
			URL: url, Name: "proj/other", Mailbox: true, SinceHub: cursor.HubID, SinceSeq: cursor.Seq,
			Takeover: true, // the hub may not have noticed yet that the connection before has ended
			OnEvent: func(ev client.Event) {
				if chat, ok := ev.(client.Chat); ok {
					fmt.Println(chat.Sender, string(chat.Payload), chat.Replayed)
					close(got)
				}
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		<-got
		// A query's answer comes after the chat was taken, so the cursor is past it.
		if _, err := recipient.Who(ctx); err != nil {
			fmt.Println(err)
		}
		cursor = recipient.Cursor()
		recipient.Close()
	}
	// Output:
	// proj/seat "first" true
	// proj/seat "second" true
}
