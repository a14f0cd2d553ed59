package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetrelay/hub/wire"
)

// answerPatience is how long a node may take for a whole answer, or for the beginning of one that is a stream. A request
// waits for one sync of the disk at most.
const answerPatience = 10 * time.Second

// notAnswering is the refusal of a node whose socket takes connections and that says nothing; pid 0 is not known.
func notAnswering(dir string, pid int) *Refusal {
	who, process := "the node in "+dir, "its process"
	if pid > 0 {
		who, process = fmt.Sprintf("%s, pid %d,", who, pid), fmt.Sprintf("process %d", pid)
	}
	return &Refusal{
		Reason: wire.ReasonNotAnswering, Text: fmt.Sprintf("%s did not answer within %v; what was asked of it may still be done", who, answerPatience),
		Next: Advice("let " + process + " go on if a signal stopped it (kill -CONT); if it is stuck, end it and start it again with fleet serve"),
	}
}

// bounded is ctx until the client's patience is over, or met is called, after which only ctx itself ends it. done frees it.
func (c *Client) bounded(ctx context.Context) (_ context.Context, met, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if c.stuck == nil {
		return ctx, func() {}, func() { cancel(nil) }
	}
	patience := time.AfterFunc(c.wait, func() { cancel(c.stuck) })
	return ctx, func() { patience.Stop() }, func() { patience.Stop(); cancel(nil) }
}

// because is err, or the refusal that ended the request's context and so led to it.
func because(ctx context.Context, err error) error {
	if r, ok := errors.AsType[*Refusal](context.Cause(ctx)); ok && err != nil {
		return r
	}
	return err
}
