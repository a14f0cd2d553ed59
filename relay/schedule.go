package relay

import (
	"math/rand/v2"
	"time"

	"fleetrelay/hub/wire"

	"github.com/cenkalti/backoff/v5"
)

// When a peer is called again depends on why there is no link.
//
//	no answer         a call every probeEvery, until there is one: see probe
//	an answer, lost   100 ms, doubling to 5 s: the peer is there, and comes and goes
//	refused           1 s, doubling to 300 s: somebody has to change something; journalled before the attempt
//
// All waits have jitter, so that nodes that lost one another at the same moment do not come back in step. A peer that calls
// is never made to wait.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
	// settledAfter is how long a link must have lived to begin the schedule anew.
	settledAfter = 10 * time.Second
	// yieldTime is how long the hub with the larger id leaves dialling to the other.
	yieldTime = 3 * time.Second
	// politeWait is the least wait after the peer said that it is stopping.
	politeWait = time.Second

	firstRefusedWait = time.Second
	longRefusedWait  = 300 * time.Second
)

// schedule says when to dial next.
type schedule struct {
	waits   backoff.ExponentialBackOff
	lost    int // links and attempts that ended with an answer, since the last link that settled
	refused int // those that were refused
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
	s.lost, s.refused = 0, 0
}

func (s *schedule) attempts() int { return s.lost + s.refused }

// after is the wait that follows an end or a failure with this reason; yields is whether this hub leaves the first
// attempt to the peer.
func (s *schedule) after(reason wire.Reason, remote, yields bool) time.Duration {
	if isRefusal(reason) {
		s.refused++
		return refusedWait(s.refused, rand.N[time.Duration])
	}
	first := s.attempts() == 0
	s.lost++
	wait := s.waits.NextBackOff()
	if remote && reason == wire.ReasonHubShutdown {
		wait = max(wait, politeWait)
	}
	if first && yields {
		wait = max(wait, yieldTime)
	}
	return wait
}

// refusedWait is the wait after the n-th refusal in a row, give or take a fifth, never above longRefusedWait. random is
// rand.N.
func refusedWait(n int, random func(time.Duration) time.Duration) time.Duration {
	wait := longRefusedWait
	if n < 10 { // beyond that the shift is longer than the longest wait
		wait = min(wait, firstRefusedWait<<(max(n, 1)-1))
	}
	return min(wait*4/5+random(wait*2/5), longRefusedWait)
}

// isRefusal tells a decision, of either side, from links and attempts that were only lost.
func isRefusal(r wire.Reason) bool {
	switch r {
	case wire.ReasonLinkLost, wire.ReasonLinkReplaced, wire.ReasonLinkDuplicate, wire.ReasonHubShutdown:
		return false
	}
	return true
}

// needsOperator tells refusals that time does not mend: they are shown as fenced.
func needsOperator(r wire.Reason) bool {
	switch r {
	case wire.ReasonRewound, wire.ReasonCloned, wire.ReasonRelayVersion, wire.ReasonSelfDial, wire.ReasonUnknownPeer,
		wire.ReasonPeerRevoked, wire.ReasonPeerRejected,
		wire.ReasonPinMismatch, wire.ReasonWrongHubID, wire.ReasonNoCertificate, wire.ReasonCertificateRefused, wire.ReasonCertificateExpired,
		wire.ReasonCertificateNotYetValid, wire.ReasonWrongKeyUsage:
		return true
	}
	return false
}
