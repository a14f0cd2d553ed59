package journal

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// benchStore is a store on the real disk.
func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.TempDir(), Options{HubID: testHub})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// chatBatch is n chats with 400-byte bodies, their mailbox rows and digests as the hub would give them.
func chatBatch(batch *Batch, from uint64, n int, body []byte, digest [32]byte) {
	batch.Reset()
	for i := range uint64(n) {
		rec := ChatAccepted{MsgID: from + i, Sender: "project/alice", Target: "project/bob", HasTarget: true, Principal: "token:01", ClientMsgID: "m-123456"}
		batch.Append(NewEvent(from+i, int64(from+i), rec).WithBody(body, digest))
		batch.Put(MailboxKey("project/bob", from+i), nil)
	}
}

func benchApply(b *testing.B, size int) {
	s := benchStore(b)
	body := make([]byte, 400)
	for i := range body {
		body[i] = byte('a' + i*7%26)
	}
	digest := completed(Event{Kind: KindChatAccepted}.WithBody(body, [32]byte{})).Digest
	waiting := make(chan *Pending, 4)
	done := make(chan error)
	go func() {
		for p := range waiting {
			if err := p.Wait(); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	// Up to four batches wait, as in the committer; a batch of one waits for itself.
	seq, applying := uint64(1), time.Duration(0)
	batches := [6]Batch{}
	b.ResetTimer()
	start := time.Now()
	for i := range b.N {
		batch := &batches[i%len(batches)]
		chatBatch(batch, seq, size, body, digest)
		at := time.Now()
		p, err := s.Apply(batch)
		if err != nil {
			b.Fatal(err)
		}
		applying += time.Since(at)
		seq += uint64(size)
		if size > 1 {
			waiting <- p
		} else if err := p.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	close(waiting)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	events := float64(b.N * size)
	b.ReportMetric(events/time.Since(start).Seconds(), "events/s")
	b.ReportMetric(float64(applying.Nanoseconds())/events, "ns-in-Apply/event")
	b.ReportMetric(float64(s.guard.syncs.Load())/float64(b.N), "syncs/batch")
}

func BenchmarkApplyWait(b *testing.B) {
	for _, size := range []int{1, 256} {
		b.Run(strconv.Itoa(size), func(b *testing.B) { benchApply(b, size) })
	}
}

// BenchmarkFsync is the disk's own pace, to read the others by.
func BenchmarkFsync(b *testing.B) {
	f, err := os.CreateTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for range b.N {
		if _, err := f.WriteAt(block, 0); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStage is what Apply costs beside Pebble: header, chain, encoding into the engine's batch.
func BenchmarkStage(b *testing.B) {
	s := benchStore(b)
	body := make([]byte, 400)
	batch := NewBatch()
	chatBatch(batch, 1, 256, body, [32]byte{1})
	if _, err := s.admit(batch); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		p := &Pending{store: s, batch: s.db.NewBatchWithSize(batch.bytes + 64), end: s.applied, moved: true}
		if err := s.stage(p, batch); err != nil {
			b.Fatal(err)
		}
		if err := p.batch.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/event")
}

// BenchmarkMillion writes a million settled events and prints memory along the way, reopening and verifying times:
// go test -run - -bench Million -benchtime 1x ./hub/journal
func BenchmarkMillion(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(dir, Options{HubID: testHub})
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 400)
	batch, seq := NewBatch(), uint64(1)
	for seq <= 1_000_000 {
		chatBatch(batch, seq, 250, body, [32]byte{})
		lo, hi := MailboxRange("project/bob", seq, seq+250)
		batch.DeleteRange(lo, hi)
		p, err := s.Apply(batch)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			b.Fatal(err)
		}
		if seq += 250; (seq-1)%200_000 == 0 {
			b.Logf("%7d events: heap %d MiB, resident %s, on disk %d MiB", seq-1, heapMiB(), residentSet(), s.Metrics().DiskBytes>>20)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	at := time.Now()
	if s, err = Open(dir, Options{HubID: testHub}); err != nil {
		b.Fatal(err)
	}
	b.Logf("open: %v", time.Since(at))
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	at = time.Now()
	report, err := Verify(dir, Options{}, nil)
	if err != nil || !report.OK() {
		b.Fatal(report.Problems, err)
	}
	b.Logf("verify: %v", time.Since(at))
}

func heapMiB() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 20
}

// residentSet is this process's resident memory where the system tells it.
func residentSet() string {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return "unknown"
	}
	var size, pages int
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%d MiB", pages*os.Getpagesize()>>20)
}
