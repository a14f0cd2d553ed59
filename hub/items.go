package hub

import (
	"sync"

	"fleetrelay/hub/socket"
	"fleetrelay/hub/wire"
)

// appender is any hub frame: it appends its JSON.
type appender interface {
	Append(dst []byte) []byte
}

// frame is one hub frame to be built in the writer's goroutine, once, however
// many sockets share it.
type frame struct {
	build appender
	size  int
	once  sync.Once
	bytes []byte
}

// frameItem wraps a hub frame of ordinary size.
func frameItem(build appender) socket.Item { return &frame{build: build, size: 512} }

// chatItem wraps a chat frame; its queue weight is its body's.
func chatItem(f *wire.ChatFrame) socket.Item { return &frame{build: f, size: len(f.Body) + 256} }

func (f *frame) Frames(yield func([]byte) bool) {
	f.once.Do(func() {
		f.bytes = f.build.Append(make([]byte, 0, f.size))
		f.build = nil
	})
	yield(f.bytes)
}

func (f *frame) Size() int    { return f.size }
func (f *frame) Written(bool) {}

// frames is several hub frames in one place of a queue.
type frames []*frame

// framesItem wraps hub frames of ordinary size.
func framesItem(builds []appender) socket.Item {
	if len(builds) == 1 {
		return frameItem(builds[0])
	}
	out := make(frames, len(builds))
	for i, b := range builds {
		out[i] = &frame{build: b, size: 512}
	}
	return out
}

func (f frames) Frames(yield func([]byte) bool) {
	going := true
	for i := 0; i < len(f) && going; i++ {
		f[i].Frames(func(b []byte) bool { going = yield(b); return going })
	}
}

func (f frames) Size() int  { return 512 * len(f) }
func (frames) Written(bool) {}

// note is a stored notification on its way to one socket: when the socket took
// it, its row is settled.
type note struct {
	socket.Item
	to  *session
	seq uint64
}

// noteItem wraps the frames of a stored notification.
func noteItem(to *session, seq uint64, builds ...appender) socket.Item {
	return &note{Item: framesItem(builds), to: to, seq: seq}
}

func (n *note) Written(ok bool) {
	if ok && n.to != nil {
		n.to.took(n.seq)
	}
}

// stream is an item whose frames are read from the journal while they are
// written, so that a long replay costs its own socket only.
type stream struct {
	each func(yield func([]byte) bool)
}

func (s *stream) Frames(yield func([]byte) bool) { s.each(yield) }
func (s *stream) Size() int                      { return 1024 }
func (s *stream) Written(bool)                   {}
