package relay

import (
	"context"
	"syscall"
	"testing"
	"time"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// free is a core that costs next to nothing: its lane is there already, and what comes in is durable at once.
type free struct {
	*store
	lane []hub.OutRecord
	got  chan uint64
}

func (f free) LaneOut(wire.HubID) hub.LaneOut { return hub.LaneOut{} }

func (f free) Outbox(_ wire.HubID, after uint64, maxCount, _ int) ([]hub.OutRecord, error) {
	from := min(int(after), len(f.lane))
	return f.lane[from:min(from+maxCount, len(f.lane))], nil
}

func (f free) Inbound(_ context.Context, _ wire.HubID, recs []hub.InRecord, done func(hub.InboundResult)) error {
	last := recs[len(recs)-1].Origin.LaneSeq
	done(hub.InboundResult{Cursor: hub.Cursor{Seq: last}})
	select {
	case f.got <- last:
	default:
		<-f.got
		f.got <- last
	}
	return nil
}

func (f free) Acked(context.Context, wire.HubID, uint64, []hub.Refusal) error { return nil }

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// One operation is one record of 400 bytes from lane to lane over QUIC, both relays in this process; cpu-us/record is
// what both together cost, transport and TLS included.
func BenchmarkOverQUIC(b *testing.B) {
	pa, pb := newPlace(b, alpha), newPlace(b, beta)
	sa, sb := newStore(alpha), newStore(beta)
	defer sa.close()
	defer sb.close()
	sa.setTrust(pb.peer())
	sb.setTrust(pa.peer())
	body := make([]byte, 0, 420)
	body = append(body, `{"payload":"`...)
	for len(body) < 400 {
		body = append(body, 'x')
	}
	body = append(body, `"}`...)
	sa.with(beta, func(l *testLane) {
		for range b.N {
			sa.acceptLocked(l, beta, body)
		}
	})
	ra, stopA := pa.run(b, free{sa, sa.lanes[beta].out, nil})
	got := make(chan uint64, 1)
	rb, stopB := pb.run(b, free{sb, nil, got})
	defer stopB()
	defer stopA()
	if !eventually(10*time.Second, func() bool { l := rb.Links(); return len(l) == 1 && l[0].State == Up }) {
		b.Fatalf("%+v", rb.Links())
	}
	before := cpu()
	b.ResetTimer()
	ra.Wake(beta, uint64(b.N))
	for last := uint64(0); last < uint64(b.N); {
		last = <-got
	}
	b.StopTimer()
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-us/record")
}

// The receiver's checks and the sender's encoding alone, per record.
func BenchmarkIntake(b *testing.B) {
	in := intake{peer: alpha, epoch: 1}
	copy(in.epochID[:], "epoch of "+alpha)
	recs := make([]hub.InRecord, 1)
	rec := good(1)
	for b.Loop() {
		in.seq = 0
		in.one(&recs[0], rec)
		if recs[0].Refuse != "" {
			b.Fatal(recs[0].Refuse)
		}
	}
}
