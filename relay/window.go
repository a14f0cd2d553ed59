package relay

// The window bounds what may be in flight between a record's sending and its acknowledgement, in each direction of a
// link. One frame more may be under way in bytes: a window that has room at all takes the next page.
const (
	WindowRecords = 4096
	WindowBytes   = 4 << 20
)

// A page is what is read from the outbox and sent as one frame.
const (
	pageRecords = 256
	pageBytes   = 256 << 10
)

// sendWindow is the sender's account of what the peer has not acknowledged.
type sendWindow struct {
	sent   uint64 // last record sent on this link, or the cursor it began at
	acked  uint64 // last record acknowledged
	bytes  int    // in flight
	frames []sentFrame
}

// sentFrame is one frame in flight. Its bytes are given back when its last record is acknowledged.
type sentFrame struct {
	last  uint64
	bytes int
}

// room is how many records may be sent now.
func (w *sendWindow) room() int {
	if w.bytes >= WindowBytes {
		return 0
	}
	return max(0, WindowRecords-int(w.sent-w.acked))
}

func (w *sendWindow) add(last uint64, bytes int) {
	w.sent = last
	w.bytes += bytes
	w.frames = append(w.frames, sentFrame{last, bytes})
}

// ack takes a cumulative acknowledgement; false means that it is not of this link: beyond what was sent.
func (w *sendWindow) ack(seq uint64) bool {
	if seq > w.sent {
		return false
	}
	w.acked = max(w.acked, seq)
	done := 0
	for done < len(w.frames) && w.frames[done].last <= w.acked {
		w.bytes -= w.frames[done].bytes
		done++
	}
	w.frames = w.frames[:copy(w.frames, w.frames[done:])]
	return true
}
