package hub

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/hub/wire"
)

// An operator sends in a seat's name without a socket, and sees what becomes of it
// by watching the seat; many at once, while agents talk.
func TestOperatorSends(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	events, err := r.hub.Watch(t.Context(), "ops/console")
	if err != nil {
		t.Fatal(err)
	}
	a := r.join("proj/a")
	var wg sync.WaitGroup
	seqs := make([]SendResult, 20)
	for i := range seqs {
		wg.Go(func() {
			var err error
			seqs[i], err = r.hub.Send(t.Context(), SendRequest{
				As: "ops/console", To: "nobody/x", Text: fmt.Sprint("text ", i), ClientMsgID: fmt.Sprint("m", i),
				ReceiptRequested: true, Principal: "admin:test",
			})
			if err != nil || seqs[i].TimeUS == 0 {
				t.Errorf("send %d: %+v, %v", i, seqs[i], err)
			}
		})
	}
	for i := range 20 {
		a.chat("all", fmt.Sprint("meanwhile ", i))
	}
	wg.Wait()
	gave, receipts := 0, 0
	for gave+receipts < 2*len(seqs) {
		e := <-events
		switch {
		case e.Sent:
			gave++
		case bytes.Contains(e.Frame, []byte(`"reason":"no_online_recipient"`)):
			receipts++
		}
	}
	if gave != len(seqs) {
		t.Errorf("the watcher saw %d sent and %d receipts", gave, receipts)
	}
}

// What an agent's frame may leave to chance an operator's command may not.
func TestOperatorSendRefuses(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	for want, req := range map[wire.Reason]SendRequest{
		wire.ReasonInvalidAddress:   {As: "ops/a", To: "  ", Text: "x"},
		wire.ReasonMalformedFrame:   {As: "ops/a", To: "ops/b", Text: "x", ClientMsgID: "a\nb"},
		wire.ReasonReservedIdentity: {As: "system", To: "ops/b", Text: "x"},
		wire.ReasonUnknownHub:       {As: "ops/a", To: "ops/b@oak", Text: "x"},
	} {
		var he *Error
		if _, err := r.hub.Send(t.Context(), req); !errors.As(err, &he) || he.Reason != want {
			t.Errorf("%+v: %v, want %s", req, err, want)
		}
	}
}

// An operator who sends is told when the message met nobody.
func TestSendSaysThatNobodyIsOnline(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	r.join("proj/b")
	self := string(r.hub.opts.HubID)
	for to, nobody := range map[string]bool{
		"proj/b": false, "proj/b@" + self: false, "proj": false, "all": false, "proj/b,proj/c": false,
		"proj/c": true, "proj/c@" + self: true, "other": true,
	} {
		got, err := r.hub.Send(t.Context(), SendRequest{As: "proj/a", To: to, Text: "hello", Principal: "admin:test"})
		if err != nil || got.NobodyOnline != nobody {
			t.Errorf("to %s: %+v, %v", to, got, err)
		}
	}
}
