package faults

import (
	"container/heap"
	"sync"
	"time"
)

// maxWaiting bounds the packets of a direction that wait for their delay; beyond it a packet is lost, as in a router.
const maxWaiting = 4096

// queue holds the packets of one direction until they are due, and hands them out in the order of being due; of those due
// together, in the order they came in. One goroutine drains it.
type queue struct {
	wake chan struct{} // capacity 1

	mu     sync.Mutex
	items  waiting
	number uint64
	last   time.Time // when the last packet that was not held is due: the next one is not due before it
	closed bool
}

// item is one packet that waits.
type item struct {
	due    time.Time
	number uint64 // in the queue
	place  uint64 // of the packet in its direction, from 1
	packet []byte
	put    func([]byte) error
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// add takes a packet that is due after wait, or after extra more when held, and says whether there was room.
func (q *queue) add(now time.Time, it item, wait, extra time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.items) >= maxWaiting {
		return false
	}
	due := now.Add(wait)
	if due.Before(q.last) {
		due = q.last
	}
	if extra == 0 {
		q.last = due
	}
	q.number++
	it.due, it.number = due.Add(extra), q.number
	heap.Push(&q.items, it)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// run hands each packet to pass when it is due, until the queue is closed.
func (q *queue) run(pass func(item)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, wait, more := q.take(time.Now())
		for _, it := range due {
			pass(it)
		}
		if !more {
			return
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-q.wake:
		}
	}
}

// idle is how long run sleeps when nothing waits: until it is woken.
const idle = time.Hour

// take returns what is due and how long the next one waits; more is false when the queue is closed.
func (q *queue) take(now time.Time) (due []item, wait time.Duration, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, 0, false
	}
	for len(q.items) > 0 {
		if first := q.items[0].due; first.After(now) {
			return due, first.Sub(now), true
		}
		due = append(due, heap.Pop(&q.items).(item))
	}
	return due, idle, true
}

// close drops what waits and ends run.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.items = true, nil
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// waiting is a heap by due and number.
type waiting []item

func (w waiting) Len() int { return len(w) }

func (w waiting) Less(i, j int) bool {
	if !w[i].due.Equal(w[j].due) {
		return w[i].due.Before(w[j].due)
	}
	return w[i].number < w[j].number
}

func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(item)) }

func (w *waiting) Pop() any {
	last := len(*w) - 1
	it := (*w)[last]
	(*w)[last] = item{}
	*w = (*w)[:last]
	return it
}
