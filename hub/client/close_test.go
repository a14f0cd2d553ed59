package client

import (
	"testing"

	"fleetrelay/hub/wire"
)

// TestClosedBy goes through the close codes of core-wire-v2 section 15: reason and whether the client comes back.
func TestClosedBy(t *testing.T) {
	for _, tc := range []struct {
		code   int
		text   string
		reason wire.Reason
		yield  bool
	}{
		{1000, "", wire.ReasonConnectionLost, false},
		{1001, "", wire.ReasonHubShutdown, false},
		{1001, "going away", wire.ReasonHubShutdown, false},
		{1009, "frame with 1048628 bytes exceeds limit of 1048576 bytes", wire.ReasonMessageTooLarge, false},
		{1011, "", wire.ReasonInternalError, false},
		{1011, "ping timeout", wire.ReasonPingTimeout, false},
		{1013, "", wire.ReasonSlowReader, false},
		{4009, "name conflict", wire.ReasonNameConflict, false},
		{4009, "name switch", wire.ReasonNameSwitch, false},
		{4009, "reserved identity", wire.ReasonReservedIdentity, true},
		{4010, "auth denied", wire.ReasonAuthDenied, true},
		{4010, "auth required", wire.ReasonAuthRequired, false},
		{4010, "registration required", wire.ReasonRegistrationRequired, false},
		{4010, "superseded", wire.ReasonSuperseded, true},
		{4012, "auth timeout", wire.ReasonAuthTimeout, false},
		{4012, "registration timeout", wire.ReasonRegistrationTimeout, false},
		{4013, "hub at capacity", wire.ReasonHubAtCapacity, false},
		{4013, "identity binding failed", wire.ReasonIdentityRefused, true},
		{4013, "identity pin mismatch", wire.ReasonIdentityRefused, true},
		{4014, "takeover cooldown", wire.ReasonTakeoverCooldown, true},
		{4014, "takeover quarantine", wire.ReasonTakeoverQuarantine, true},
		{4014, "too many unauthenticated connections", wire.ReasonTooManyUnauthenticated, false},
		{4015, "too many connections from host", wire.ReasonTooManyFromHost, false},
		{4016, "name owned", wire.ReasonNameOwned, true},
		{4010, "some other word", wire.ReasonConnectionLost, false},
		{1008, "superseded", wire.ReasonConnectionLost, false},
	} {
		got := closedBy(tc.code, tc.text)
		if got.Reason != tc.reason || got.Yield != tc.yield {
			t.Errorf("%d %q: %s, yield %v", tc.code, tc.text, got.Reason, got.Yield)
		}
	}
}
