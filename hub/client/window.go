package client

// window remembers the last size keys.
type window[K comparable] struct {
	seen map[K]struct{}
	ring []K
	at   int
	size int
}

func newWindow[K comparable](size int) *window[K] {
	return &window[K]{seen: map[K]struct{}{}, size: size}
}

// add remembers k and says whether it was new. Beyond size the oldest is forgotten.
func (w *window[K]) add(k K) bool {
	if _, ok := w.seen[k]; ok {
		return false
	}
	w.seen[k] = struct{}{}
	if len(w.ring) < w.size {
		w.ring = append(w.ring, k)
		return true
	}
	delete(w.seen, w.ring[w.at])
	w.ring[w.at] = k
	w.at = (w.at + 1) % w.size
	return true
}
