package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// timeline writes one line per thing that happened, with the time since the start. It is safe for concurrent use.
type timeline struct {
	mu    sync.Mutex
	w     io.Writer
	begun time.Time
}

func newTimeline(w io.Writer) *timeline { return &timeline{w: w, begun: time.Now()} }

// head starts a part of the story.
func (t *timeline) head(format string, args ...any) { t.write("\n        "+format+"\n", args...) }

// say writes one line of it.
func (t *timeline) say(format string, args ...any) {
	t.write(fmt.Sprintf("%6.2fs ", time.Since(t.begun).Seconds())+format+"\n", args...)
}

// write drops what a closed output does not take: the story is for people, the verdict is not written here.
func (t *timeline) write(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.w, format, args...)
}
