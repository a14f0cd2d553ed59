package federation

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"fleetrelay/hub/wire"
)

// Knock is a call of a hub that is not approved here, refused before it could
// say anything but what its certificate says. The owner of the key said it,
// not necessarily the one who called: a certificate can be shown by anybody who
// has seen it.
type Knock struct {
	// Hub is who the key's owner says it is, "" if it names none.
	Hub wire.HubID
	Pin Pin
	// Host is the address it called from, without a port.
	Host string
	// Endpoints are where it says it is reached.
	Endpoints []string
	// Invite is the SHA-256 of the secret it showed, zero for none.
	Invite [32]byte
}

// Pending is a hub that waits for an operator's decision.
type Pending struct {
	Hub       wire.HubID
	Pin       Pin
	Endpoints []string
	// Host is the address it called from last, "" if it never did.
	Host string
	// Joined: this hub took an invitation of it and knocks there. Invited: it
	// called with an invitation of this hub. Neither: a stranger.
	Joined, Invited bool
	// InviteID is this hub's invitation that it used, "" without one.
	InviteID string
	// Invite is the secret to knock with, nil unless Joined. Not for display.
	Invite []byte
	// FirstUS and LastUS are its first and last call, ExpiresUS is when the row
	// is dropped, in Unix microseconds.
	FirstUS, LastUS, ExpiresUS int64
	// Times counts its calls.
	Times uint64
}

func (p Pending) clone() Pending {
	p.Endpoints = slices.Clone(p.Endpoints)
	p.Invite = slices.Clone(p.Invite)
	return p
}

// Bounds of the book of strangers.
const (
	MaxStrangers        = 64
	MaxStrangersPerHost = 4
	// StrangerLife is how long a stranger is remembered after its last call.
	StrangerLife = time.Hour
)

// Strangers is the book of those who called without an invitation, in memory
// only. It is bounded in all and by host; when it is full, whoever is not in it
// stays out and is counted, and nobody who waits is pushed out by a newcomer.
// It belongs to one goroutine. The zero value is empty.
type Strangers struct {
	rows    map[Pin]*Pending
	dropped uint64
}

// Knock notes a call. row is what is known of the caller; why is "" or, when
// there was no room for a new one, pending_full. The hub id of a key is the one
// it named first: who changes it has to stay away for [StrangerLife].
func (s *Strangers) Knock(nowUS int64, k Knock) (row Pending, why wire.Reason) {
	s.expire(nowUS)
	p, known := s.rows[k.Pin]
	if !known {
		if len(s.rows) >= MaxStrangers || s.from(k.Host) >= MaxStrangersPerHost {
			s.dropped++
			return Pending{}, wire.ReasonPendingFull
		}
		if s.rows == nil {
			s.rows = map[Pin]*Pending{}
		}
		p = &Pending{Hub: k.Hub, Pin: k.Pin, Host: k.Host, FirstUS: nowUS}
		s.rows[k.Pin] = p
	}
	if p.Host != k.Host && s.from(k.Host) < MaxStrangersPerHost {
		p.Host = k.Host
	}
	if p.Hub == k.Hub && len(k.Endpoints) > 0 {
		p.Endpoints = slices.Clone(k.Endpoints)
	}
	p.Times++
	p.LastUS = max(p.LastUS, nowUS)
	p.ExpiresUS = p.LastUS + StrangerLife.Microseconds()
	return p.clone(), ""
}

// from counts the rows of one host.
func (s *Strangers) from(host string) (n int) {
	for _, p := range s.rows {
		if p.Host == host {
			n++
		}
	}
	return n
}

func (s *Strangers) expire(nowUS int64) {
	for pin, p := range s.rows {
		if nowUS >= p.ExpiresUS {
			delete(s.rows, pin)
		}
	}
}

// List returns who waits, the first caller first.
func (s *Strangers) List(nowUS int64) []Pending {
	s.expire(nowUS)
	list := make([]Pending, 0, len(s.rows))
	for _, p := range s.rows {
		list = append(list, p.clone())
	}
	slices.SortFunc(list, func(a, b Pending) int {
		return cmp.Or(cmp.Compare(a.FirstUS, b.FirstUS), bytes.Compare(a.Pin[:], b.Pin[:]))
	})
	return list
}

// Find returns the row of one key.
func (s *Strangers) Find(nowUS int64, pin Pin) (Pending, bool) {
	s.expire(nowUS)
	p, ok := s.rows[pin]
	if !ok {
		return Pending{}, false
	}
	return p.clone(), true
}

// Forget drops the row of one key, if there is one.
func (s *Strangers) Forget(pin Pin) { delete(s.rows, pin) }

// Dropped counts the calls for which there was no room.
func (s *Strangers) Dropped() uint64 { return s.dropped }
