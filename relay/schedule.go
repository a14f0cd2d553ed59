package relay

import (
	"math/rand/v2"
	"time"

	"fleetrelay/hub/wire"

	"github.com/cenkalti/backoff/v5"
)

// The schedule of dialling. Between these the waits double, each with jitter, so that nodes that lost one another at
// the same moment do not come back in step.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
	// settledAfter is how long a link must have lived for its end to begin the schedule anew.
	settledAfter = 10 * time.Second
	// yieldTime is how long the hub with the larger id leaves dialling to the other.
	yieldTime = 3 * time.Second
	// politeWait is the least wait after the peer said that it is stopping.
	politeWait = time.Second
	// fencedWait is the wait, give or take a fifth, after a refusal that only an operator can settle.
	fencedWait = 30 * time.Second
)

// schedule says when to dial next.
type schedule struct {
	waits    backoff.ExponentialBackOff
	attempts int // since the last link that settled
}

func newSchedule(longest time.Duration) *schedule {
	s := &schedule{waits: backoff.ExponentialBackOff{
		InitialInterval: firstWait, MaxInterval: longest, Multiplier: 2, RandomizationFactor: 0.3,
	}}
	s.reset()
	return s
}

func (s *schedule) reset() {
	s.waits.Reset()
	s.attempts = 0
}

// after is the wait that follows an end or a failure with this reason; yields is whether this hub leaves the first
// attempt to the peer.
func (s *schedule) after(reason wire.Reason, remote, yields bool) time.Duration {
	first := s.attempts == 0
	s.attempts++
	if needsOperator(reason) {
		return fencedWait*4/5 + rand.N(fencedWait*2/5)
	}
	wait := s.waits.NextBackOff()
	if remote && reason == wire.ReasonHubShutdown {
		wait = max(wait, politeWait)
	}
	if first && yields {
		wait = max(wait, yieldTime)
	}
	return wait
}

// needsOperator tells refusals that time does not mend: they are shown, and tried again only slowly.
func needsOperator(r wire.Reason) bool {
	switch r {
	case wire.ReasonRewound, wire.ReasonCloned, wire.ReasonRelayVersion, wire.ReasonSelfDial, wire.ReasonUnknownPeer,
		wire.ReasonPinMismatch, wire.ReasonWrongHubID, wire.ReasonNoCertificate, wire.ReasonCertificateRefused, wire.ReasonCertificateExpired,
		wire.ReasonCertificateNotYetValid, wire.ReasonWrongKeyUsage:
		return true
	}
	return false
}
