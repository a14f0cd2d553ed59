package load

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations with a resolution of about 3 %. It is safe for concurrent use.
type histogram struct {
	buckets [64 * steps]atomic.Uint64
	count   atomic.Uint64
}

// steps is how many buckets each power of two has.
const steps = 32

func (h *histogram) add(d time.Duration) {
	h.buckets[bucketOf(uint64(max(d, 0)))].Add(1)
	h.count.Add(1)
}

func bucketOf(ns uint64) int {
	if ns < steps {
		return int(ns)
	}
	shift := bits.Len64(ns) - 6 // the top 6 bits are 1xxxxx
	return shift*steps + int(ns>>shift)
}

// lower is the smallest duration of a bucket.
func lower(bucket int) time.Duration {
	if bucket < 2*steps {
		return time.Duration(bucket)
	}
	shift := bucket/steps - 1
	return time.Duration(uint64(bucket%steps+steps) << shift)
}

// quantile is the duration below which the share q of all lies, 0 when there are none.
func (h *histogram) quantile(q float64) time.Duration {
	want := uint64(q * float64(h.count.Load()))
	var sum uint64
	for i := range h.buckets {
		if sum += h.buckets[i].Load(); sum > want {
			return lower(i)
		}
	}
	return 0
}
