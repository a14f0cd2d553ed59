package hub

import (
	"cmp"
	"slices"
	"sync"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// callers remembers the calls of keys that are not approved, in memory only: the
// strangers, and how often those have called whose rows are in the journal. It
// is no part of the core's state, and may be used from any goroutine. Nothing
// in it waits.
type callers struct {
	mu        sync.Mutex
	strangers federation.Strangers
	again     map[federation.Pin]federation.Pending // host, last call and times since the start, of keys with a row
}

func newCallers() *callers { return &callers{again: map[federation.Pin]federation.Pending{}} }

// stranger notes a call without an invite; why says that there was no room.
func (c *callers) stranger(nowUS int64, k federation.Knock) (why wire.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, why = c.strangers.Knock(nowUS, k)
	return why
}

// calledAgain notes a call of a key whose row is in the journal. Rows are
// bounded, and so is what is kept of their calls.
func (c *callers) calledAgain(nowUS int64, k federation.Knock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls, known := c.again[k.Pin]
	if !known && len(c.again) >= 2*maxPending {
		return
	}
	if !known {
		calls.FirstUS = nowUS
	}
	calls.Host, calls.LastUS = k.Host, nowUS
	calls.Times++
	c.again[k.Pin] = calls
}

// forget drops what is known of a key's calls.
func (c *callers) forget(pins ...federation.Pin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pin := range pins {
		c.strangers.Forget(pin)
		delete(c.again, pin)
	}
}

// find returns the row of a stranger.
func (c *callers) find(nowUS int64, pin federation.Pin) (federation.Pending, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.strangers.Find(nowUS, pin)
}

// list completes the journal's rows with what was heard since, and adds the
// strangers that are not known otherwise. The caller owns the result.
func (c *callers) list(nowUS int64, rows []federation.Pending, trust *federation.Trust) []federation.Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := waiting(rows, nowUS)
	for i := range out {
		c.complete(&out[i])
	}
	for pin := range c.again {
		if !hasPin(out, pin) {
			delete(c.again, pin)
		}
	}
	for _, p := range c.strangers.List(nowUS) {
		if _, known := trust.HubOf(p.Pin); !known && trust.Blocked(p.Pin) == "" && !hasPin(out, p.Pin) {
			out = append(out, p)
		}
	}
	return out
}

// complete adds the calls since the start to a row and makes it the caller's.
func (c *callers) complete(row *federation.Pending) {
	row.Endpoints, row.Invite = slices.Clone(row.Endpoints), slices.Clone(row.Invite)
	calls, ok := c.again[row.Pin]
	if !ok {
		return
	}
	row.FirstUS = cmp.Or(row.FirstUS, calls.FirstUS)
	row.Host, row.LastUS = calls.Host, max(row.LastUS, calls.LastUS)
	row.Times += calls.Times
}

func hasPin(rows []federation.Pending, pin federation.Pin) bool {
	return slices.ContainsFunc(rows, func(p federation.Pending) bool { return p.Pin == pin })
}
