package main

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) queueCommand() *cobra.Command {
	return groupCommand("queue", "What waits for other hubs", a.queueListCommand(), a.queueShowCommand())
}

// waitsFor says for what a queue waits.
func waitsFor(q node.Queue) string {
	switch {
	case q.Records == 0:
		return "-"
	case q.Revoked:
		return "a new approval: the hub was revoked"
	case q.Link == "":
		return "the node does not run"
	case q.Link == "up":
		return "an answer"
	}
	text := "the link: " + q.Link + ", " + cmp.Or(q.LinkReason, "not tried yet")
	if q.LinkNextUS != 0 {
		text += "; next try " + clock(q.LinkNextUS)
	}
	return text
}

// until is when something ends, "-" for never.
func until(us int64) string {
	if us == 0 {
		return "-"
	}
	return clock(us)
}

// age is how long ago something was, to the second, "-" for never.
func age(us int64) string {
	if us == 0 {
		return "-"
	}
	return max(time.Since(time.UnixMicro(us)), 0).Round(time.Second).String()
}
