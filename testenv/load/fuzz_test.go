package load

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// wsReader reads the next message, like (*webSocket).read or one with a planted bug.
type wsReader func(w *webSocket, buf []byte) ([]byte, error)

// streamFault compares the messages and answers of a hub's stream with what the protocol says, read frame by frame.
func streamFault(stream []byte, read wsReader) string {
	var out bytes.Buffer
	w := &webSocket{in: bufio.NewReaderSize(bytes.NewReader(stream), 16), out: bufio.NewWriter(&out)}
	var got [][]byte
	var buf []byte
	for {
		message, err := read(w, buf)
		if err != nil {
			break
		}
		if len(message) > maxMessage {
			return fmt.Sprintf("a message of %d bytes", len(message))
		}
		got, buf = append(got, bytes.Clone(message)), message
	}
	want, answers := naiveStream(stream)
	if len(got) != len(want) {
		return fmt.Sprintf("%x has %d messages, want %d", stream, len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			return fmt.Sprintf("%x: message %d is %x, want %x", stream, i, got[i], want[i])
		}
	}
	if !bytes.Equal(out.Bytes(), answers) {
		return fmt.Sprintf("%x is answered %x, want %x", stream, out.Bytes(), answers)
	}
	return ""
}

// naiveStream reads whole frames from a slice until something is wrong with one.
func naiveStream(b []byte) (messages [][]byte, answers []byte) {
	var message []byte
	begun := false
	for {
		head, payload, rest, ok := naiveFrame(b, len(message))
		if !ok {
			return messages, answers
		}
		b = rest
		last, op := head>>7 == 1, head&0x7f
		switch {
		case op >= 8 && (!last || len(payload) > 125):
			return messages, answers
		case op == 9:
			answers = append(append(answers, 0x8a, 0x80|byte(len(payload)), 0, 0, 0, 0), payload...)
		case op == 8:
			return messages, append(append(answers, 0x88, 0x80|byte(len(payload)), 0, 0, 0, 0), payload...)
		case op == 10:
		case op == 1 && !begun, op == 0 && begun:
			message, begun = append(message, payload...), true
			if last {
				messages = append(messages, message)
				message, begun = nil, false
			}
		default:
			return messages, answers
		}
	}
}

func naiveFrame(b []byte, held int) (head byte, payload, rest []byte, ok bool) {
	if len(b) < 2 || b[1] > 127 {
		return 0, nil, nil, false
	}
	size, at := uint64(b[1]), 2
	switch {
	case size == 126 && len(b) >= 4:
		size, at = uint64(binary.BigEndian.Uint16(b[2:])), 4
	case size == 127 && len(b) >= 10:
		size, at = binary.BigEndian.Uint64(b[2:]), 10
	case size > 125:
		return 0, nil, nil, false
	}
	if size > maxMessage || size+uint64(held) > maxMessage || size > uint64(len(b)-at) {
		return 0, nil, nil, false
	}
	end := at + int(size)
	return b[0], b[at:end], b[end:], true
}

func streamSeeds() [][]byte {
	long := append([]byte{0x81, 126, 0, 200}, bytes.Repeat([]byte("x"), 200)...)
	overflow := append([]byte{0x01, 1, 'a', 0x80, 127}, bytes.Repeat([]byte{0xff}, 8)...)
	return [][]byte{
		nil,
		{0x81, 2, 'h', 'i', 0x81, 0},
		{0x01, 1, 'a', 0x89, 1, 'p', 0x00, 1, 'b', 0x80, 1, 'c', 0x8a, 0},
		{0x88, 4, 0x0f, 0xa1, 'n', 'o', 0x81, 0},
		{0x88, 1, 0x0f},
		{0x81, 0x81, 'm', 0, 0, 0, 0},
		{0x81, 127, 0, 0, 0, 0, 0, 0, 0, 1, 'x'},
		{0x80, 1, 'a'},
		{0x01, 1, 'a', 0x81, 1, 'b'},
		{0xc1, 1, 'a'},
		{0x09, 0, 0x81, 1, 'a'},
		{0x83, 1, 'a'},
		{0x82, 1, 'a'},
		long, overflow, append([]byte{0x89, 126, 0, 126}, long...),
	}
}

func FuzzStream(f *testing.F) {
	for _, stream := range streamSeeds() {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if fault := streamFault(stream, (*webSocket).read); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The body above finds planted bugs among its own seeds, and nothing in what ships.
func TestFuzzBodyFindsPlantedBugs(t *testing.T) {
	over := func(read wsReader) (faults string) {
		for _, stream := range streamSeeds() {
			faults += streamFault(stream, read)
		}
		return faults
	}
	if faults := over((*webSocket).read); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, read := range map[string]wsReader{
		"a ping ends a message": func(w *webSocket, buf []byte) ([]byte, error) {
			if next, err := w.in.Peek(4); err == nil && next[0] == 0x01 && next[3] == 0x89 {
				next[0] |= final
			}
			return w.read(buf)
		},
		"pings are not answered": func(w *webSocket, buf []byte) ([]byte, error) {
			w.out.Reset(&bytes.Buffer{})
			return w.read(buf)
		},
		"any frame is a message": func(w *webSocket, buf []byte) ([]byte, error) {
			_, all, err := w.readFrame(buf[:0])
			return all, err
		},
	} {
		if over(read) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
