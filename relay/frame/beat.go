package frame

import (
	"strconv"

	"fleetrelay/hub/wire"
)

// Beat is a sign of life from which both ends learn the round-trip time and how far apart their clocks are. Times are
// Unix microseconds on the clock of whoever wrote them, durations microseconds.
type Beat struct {
	// TimeUS is the sender's clock as the beat left.
	TimeUS uint64
	// EchoUS repeats the TimeUS of the last beat that the sender has got, 0 for none; HeldUS is how long ago that was.
	EchoUS, HeldUS uint64
}

// Append appends the whole frame.
func (b *Beat) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(appendPrefix(dst), `{"type":"beat","time_us":`...)
	dst = strconv.AppendUint(dst, b.TimeUS, 10)
	dst = append(dst, `,"echo_us":`...)
	dst = strconv.AppendUint(dst, b.EchoUS, 10)
	dst = append(dst, `,"held_us":`...)
	dst = strconv.AppendUint(dst, b.HeldUS, 10)
	return endHeader(append(dst, '}'), start, 0)
}

// ParseBeat reads a beat.
func ParseBeat(f Frame) (Beat, error) {
	if f.Type != wire.LinkBeat {
		return Beat{}, protocolError("%s is not a beat", f.Type)
	}
	in := fields{obj: f.header}
	b := Beat{TimeUS: in.number("time_us"), EchoUS: in.number("echo_us"), HeldUS: in.number("held_us")}
	in.only(4)
	return b, in.err
}
