package demo

import (
	"context"
	"fmt"

	"fleetrelay/hub/client"
)

// Kinds of receipts that the story waits for.
func delivered(r client.Receipt) bool { return r.Delivered }
func deferred(r client.Receipt) bool  { return r.Delivered && r.Deferred }
func waiting(r client.Receipt) bool   { return !r.Delivered && !r.Deferred && !r.Expired }

// receipt waits for what a sender is told of one of its messages.
func (r *run) receipt(ctx context.Context, from *agent, id string, wanted func(client.Receipt) bool) (got client.Receipt, ok bool) {
	ok = r.wait(ctx, "the receipt of "+id, func(context.Context) (err error) {
		got, err = from.told(id, wanted)
		return err
	})
	return got, ok
}

// receiptText says who stated a receipt: the recipient's hub alone knows.
func receiptText(r client.Receipt) string {
	by := string(r.HubID)
	if r.RemoteHub != "" {
		by = r.RemoteHub
	}
	switch {
	case r.Delivered && r.Deferred:
		return "delivered later, says " + by
	case r.Delivered:
		return "delivered, says " + by
	}
	return fmt.Sprintf("not delivered, says %s: %s", by, r.Reason)
}
