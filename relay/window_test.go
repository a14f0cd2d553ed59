package relay

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// The sender sends again from the cursor of the hello, whatever the peer acknowledged on an earlier connection; an ack
// beyond what this link sent is ignored and settles nothing.
func TestStaleAcksAreIgnored(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		b.send(alpha, 1000)
		b.page = 100
		for range 3 { // reads nothing, acknowledges nothing, goes away
			h.dial(nil)
			_ = h.conn.Close("")
			synctest.Wait()
		}
		h.dial(nil)
		h.write((&frame.Ack{Seq: 5000}).Append(nil)) // never sent at all
		synctest.Wait()
		if l := b.link(t, alpha); l.State != Up || l.StaleAcks != 1 {
			t.Errorf("%+v", l)
		}
		b.with(alpha, func(l *testLane) {
			if l.acked != 0 || len(b.faults) > 0 {
				t.Errorf("%d acknowledged, %v", l.acked, b.faults)
			}
		})
		sent := uint64(0)
		for sent < 1000 {
			f := h.next()
			if f.Type != wire.LinkRecords {
				continue
			}
			rs, err := frame.ParseRecords(f)
			if err != nil || rs.First != sent+1 {
				t.Fatalf("records from %d after %d, %v", rs.First, sent, err)
			}
			sent += uint64(len(rs.Items))
		}
		h.write((&frame.Ack{Seq: 1000}).Append(nil))
		h.write((&frame.Ack{Seq: 400}).Append(nil))
		synctest.Wait()
		b.with(alpha, func(l *testLane) {
			if l.acked != 1000 {
				t.Errorf("%d acknowledged", l.acked)
			}
		})
	})
}

// An ack of a link that was replaced does not reach the core, though its bytes arrive after the new link is up.
func TestAckOfAnOldGenerationIsIgnored(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		b.send(alpha, 3)
		h.dial(nil)
		synctest.Wait()
		old := h.conn
		h.dial(nil)
		synctest.Wait()
		_, _ = old.Write((&frame.Ack{Seq: 3}).Append(nil))
		_ = old.Flush()
		synctest.Wait()
		b.with(alpha, func(l *testLane) {
			if l.acked != 0 {
				t.Errorf("%d acknowledged", l.acked)
			}
		})
		if l := b.link(t, alpha); l.State != Up || l.LastReason != wire.ReasonLinkReplaced || l.Generation != 2 {
			t.Errorf("%+v", l)
		}
	})
}

// Of one instance the later link is kept: a hello that was overtaken by a newer one is turned away.
func TestOvertakenHelloIsTurnedAway(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		h.dial(func(hello *frame.Hello) { hello.Link = 5 })
		f := h.dial(func(hello *frame.Hello) { hello.Link = 5 })
		if bye, err := frame.ParseBye(f); err != nil || bye.Reason != wire.ReasonLinkDuplicate {
			t.Errorf("answered %s %q", f.Type, bye.Reason)
		}
		if l := b.link(t, alpha); l.State != Up || l.Generation != 1 {
			t.Errorf("%+v", l)
		}
	})
}

// A peer that ignores the window, with a core that never commits, makes nothing grow: this side stops reading.
func TestOverrunWindowIsBounded(t *testing.T) {
	endless := func() *store { return newStoreOf(beta, 24*time.Hour, 10_000, alpha) } // takes everything, commits nothing
	withHostileTo(t, endless, func(h *hostile, b *node) {
		h.dial(nil)
		flood := make(chan struct{})
		go func() {
			defer close(flood)
			for seq := uint64(1); seq < 5000; seq++ {
				h.write(frameOf(seq, good(seq)))
			}
		}()
		synctest.Wait()
		if b.most == 0 || b.most > WindowRecords {
			t.Errorf("%d records were handed over", b.most)
		}
		_ = h.conn.Close("")
		<-flood
	})
}

// A peer that takes nothing, however much is to be sent, gets no more than the window.
func TestWindowIsKept(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		h.dial(nil)
		b.send(alpha, 20_000)
		count := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for f := h.next(); f.Type != ""; f = h.next() {
				if rs, err := frame.ParseRecords(f); err == nil {
					count += len(rs.Items)
				}
			}
		}()
		synctest.Wait()
		if count != WindowRecords || b.link(t, alpha).InFlight != WindowRecords {
			t.Errorf("%d records sent unacknowledged, %+v", count, b.link(t, alpha))
		}
		h.write((&frame.Ack{Seq: 10}).Append(nil))
		synctest.Wait()
		if count != WindowRecords+10 {
			t.Errorf("%d records after an ack of 10", count)
		}
		_ = h.conn.Close("")
		<-done
	})
}

func TestLargeRecordsAreBoundedByBytes(t *testing.T) {
	withHostile(t, func(h *hostile, b *node) {
		big := bytes.Repeat([]byte("x"), 900<<10)
		b.with(alpha, func(l *testLane) {
			for range 20 {
				b.acceptLocked(l, alpha, fmt.Appendf(nil, `{"payload":"%s"}`, big))
			}
		})
		h.dial(nil)
		size := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for f := h.next(); f.Type != ""; f = h.next() {
				size += len(f.Payload)
			}
		}()
		synctest.Wait()
		if size < WindowBytes || size > WindowBytes+1<<20 {
			t.Errorf("%d bytes in flight", size)
		}
		_ = h.conn.Close("")
		<-done
	})
}

// A core that is slow holds back the sender and nothing else.
func TestSlowCoreHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newStore(alpha, beta), newStoreOf(beta, time.Second, 2, alpha)
		a.page = 10
		p := startPair(t, newNetwork(), a, b)
		defer p.stop()
		p.a.send(beta, 3000)
		p.b.send(alpha, 3000)
		if !await(time.Minute, func() bool { return a.LaneIn(beta).Seq == 3000 }) {
			t.Error("the other direction waited")
		}
		if !await(time.Hour, p.settled) {
			t.Error("not settled")
		}
		if b.most > 200 { // the core's queue holds two batches, one is in hand, one waits
			t.Errorf("%d records waited for the core", b.most)
		}
		p.verify(t)
	})
}

var _ hub.Forwarder = (*Relay)(nil)
