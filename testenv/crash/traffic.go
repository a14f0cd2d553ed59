package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"fleetrelay/hub/client"
	"fleetrelay/testenv/app"
	"fleetrelay/testenv/cluster"
)

// project is the one project all seats of the run belong to.
const project = "crash"

// clientsDir holds the applications' logs.
const clientsDir = "clients"

// send sends n messages to the partner's seat on the other hub and, beside every tenth, one to the same seat on its own
// hub; it returns when each was accepted or has failed.
func send(ctx context.Context, a *app.App, rng *rand.Rand, n int, seat string, far *cluster.Node) error {
	for i := range n {
		if err := sendOne(ctx, a, rng, seat+"@"+far.Hub, fmt.Sprintf("far-%d", i)); err != nil {
			return err
		}
		if i%localEvery != 0 {
			continue
		}
		if err := sendOne(ctx, a, rng, seat, fmt.Sprintf("near-%d", i)); err != nil {
			return err
		}
	}
	return a.Drain(ctx)
}

// localEvery is how many messages cross for each one that stays.
const localEvery = 10

// perSender is how many messages send sends in all.
func perSender(n int) int { return n + (n+localEvery-1)/localEvery }

// unasked is how many messages there are for each one without a receipt.
const unasked = 16

func sendOne(ctx context.Context, a *app.App, rng *rand.Rand, to, id string) error {
	text := id + " " + strings.Repeat("payload ", rng.IntN(50))
	return a.Send(ctx, client.Message{To: to, Text: text, ClientMsgID: id, ReceiptRequested: rng.IntN(unasked) > 0})
}
