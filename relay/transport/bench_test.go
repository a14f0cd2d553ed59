package transport_test

import (
	"io"
	"testing"

	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport/transporttest"
)

// BenchmarkRecords writes records of 600 bytes into the buffered stream over
// loopback, flushing only at the end, and counts them as read.
func BenchmarkRecords(b *testing.B) {
	const size = 600
	left, right := quicPair(b)
	from, to := transporttest.Connect(b, left, right)
	record := make([]byte, size)
	b.SetBytes(size)
	b.ResetTimer()
	wrote := make(chan error, 1)
	go func() { wrote <- write(from, record, b.N) }()
	if _, err := io.CopyN(io.Discard, to, int64(b.N)*size); err != nil {
		b.Fatal(err)
	}
	if err := <-wrote; err != nil {
		b.Fatal(err)
	}
}

func write(w interface {
	io.Writer
	Flush() error
}, record []byte, n int,
) error {
	for range n {
		if _, err := w.Write(record); err != nil {
			return err
		}
	}
	return w.Flush()
}

// BenchmarkPingPong sends one record each way and waits.
func BenchmarkPingPong(b *testing.B) {
	left, right := quicPair(b)
	from, to := transporttest.Connect(b, left, right)
	go func() {
		buf := make([]byte, 600)
		for {
			if _, err := io.ReadFull(to, buf); err != nil {
				return
			}
			if write(to, buf, 1) != nil {
				return
			}
		}
	}()
	buf := make([]byte, 600)
	for b.Loop() {
		if err := write(from, buf, 1); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(from, buf); err != nil {
			b.Fatal(err)
		}
	}
	_ = from.Close(wire.ReasonHubShutdown)
}

// BenchmarkDial makes and ends whole connections.
func BenchmarkDial(b *testing.B) {
	left, right := quicPair(b)
	for b.Loop() {
		from, to := transporttest.Connect(b, left, right)
		_ = from.Close(wire.ReasonHubShutdown)
		_ = to.Close(wire.ReasonHubShutdown)
	}
}
