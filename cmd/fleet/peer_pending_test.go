package main

import (
	"testing"

	"fleetrelay/cmd/fleet/node"
)

// Whoever is refused is told no more than that, and what is shown claims no more.
func TestWaitState(t *testing.T) {
	for want, p := range map[string]node.Pending{
		"not called yet":  {Joined: true},
		"has approved us": {Joined: true, Accepted: true},
		"called twice, refused there: waiting or turned away": {Joined: true, Calls: 2, CallReason: "peer_pending"},
		"called 3 times: link_lost":                           {Joined: true, Calls: 3, CallReason: "link_lost"},
		"expired: ask for a new invitation":                   {Joined: true, Expired: true, Calls: 3, CallReason: "peer_pending"},
	} {
		if got := waitState(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
