package clientlog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fleetrelay/hub/client"
	"fleetrelay/hub/wire"
)

func TestObserverNotesWhatTheApplicationSees(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, "p/a")
	if err != nil {
		t.Fatal(err)
	}
	o := Observe(w, "p/a", "hub-a", "p/r")
	taken, others := 0, 0
	chat := client.Chat{Sender: "p/b@hub-b", Target: "p/a", Payload: wire.Raw(`"h\u00e9"`), Seq: 4, MsgID: 3, ClientMsgID: "b1", Addressed: true}
	for range 2 { // two lives of the client: the second hub/client remembers nothing and tells the chat again
		var opts client.Options
		o.Attach(&opts, func(client.Chat) { taken++ }, func(client.Event) { others++ })
		for _, ev := range []client.Event{client.Welcome{}, chat, client.Chat{Sender: "p/c", Seq: 9}} {
			opts.Recorder.OnEvent(ev)
			opts.OnEvent(ev)
		}
		opts.Recorder.OnSent([]byte(`{"sender":"p/a","target":"p/b@hub-b","type":"chat","payload":"x","client_msg_id":"a1","receipt_requested":true}`))
		opts.Recorder.OnSent([]byte(`{"sender":"p/a","type":"heartbeat"}`))
		if opts.OnRaw([]byte(`{"sender":"p/a","target":"p/b@hub-b","type":"chat","payload":"x","client_msg_id":"a1","seq":7,"msg_id":5}`)) {
			t.Error("an own copy was kept from the client")
		}
		opts.OnRaw([]byte(`{"sender":"p/b","target":"p/a","type":"chat","payload":"x","seq":8}`))
	}
	o.OnEvent(client.ErrorFrame{ClientMsgID: "a2", Code: wire.ReasonNotPermitted})
	o.OnEvent(client.ErrorFrame{Code: wire.ReasonMalformedJSON}) // of no message
	for range 2 {                                                // told again, which the client does not pass on
		o.onRaw([]byte(`{"type":"delivery_receipt","message_seq":7,"message_id":5,"delivered":true,"deferred":true,"recipients":["p/b"],"receipt_notification_id":"delivery-receipt:7:deferred","client_msg_id":"a1","remote_hub":"hub-b"}`))
	}
	if o.Err() != nil || w.Close() != nil || taken != 1 || others != 4 {
		t.Errorf("%v, %d taken, %d others", o.Err(), taken, others)
	}
	x := Digest([]byte("x"))
	joined, sent := Entry{Kind: Joined, Roles: []string{"p/r"}}, Entry{Kind: Sent, To: "p/b@hub-b", ClientMsgID: "a1", Digest: x, Asked: true}
	accepted := Entry{Kind: Accepted, To: "p/b@hub-b", ClientMsgID: "a1", Digest: x, Seq: 7, MsgID: 5}
	told := Entry{
		Kind: Receipt, ClientMsgID: "a1", Seq: 7, MsgID: 5, NotificationID: "delivery-receipt:7:deferred", Delivered: true, Deferred: true,
		Recipients: []string{"p/b"}, RemoteHub: "hub-b",
	}
	want := []Entry{
		joined,
		{Kind: Received, To: "p/a", Sender: "p/b@hub-b", ClientMsgID: "b1", Digest: Digest([]byte("hé")), Seq: 4, MsgID: 3},
		sent, accepted, joined, sent, accepted,
		{Kind: Refused, ClientMsgID: "a2", Reason: "not_permitted"},
		told, told,
	}
	for i := range want {
		want[i].Who, want[i].Hub = "p/a", "hub-a"
	}
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read(t, files[0]), cmpopts.IgnoreFields(Entry{}, "TimeUS", "Conn")); diff != "" {
		t.Error(diff)
	}
}

func TestAnObserverThatCannotWriteSaysSo(t *testing.T) {
	w, err := Create(t.TempDir(), "p/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	o := Observe(w, "p/a", "hub-a")
	o.OnEvent(client.Welcome{})
	if o.Err() == nil {
		t.Error("missing evidence was not noticed")
	}
}
