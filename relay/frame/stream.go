package frame

import (
	"bufio"
	"encoding/binary"
	"io"

	"fleetrelay/hub/wire"
)

// Bounds of a frame. The payload's ceiling is the receiver's own: [PayloadCeiling].
const (
	// PrefixBytes is the size of the two lengths before the header.
	PrefixBytes = 8
	// MaxHeader is the largest header in bytes.
	MaxHeader = 64 << 10
	// MaxOrigin is the largest origin block in bytes; a larger one is a protocol error, not a bad record.
	MaxOrigin = 64 << 10
	// MaxRecords is the largest number of records in one frame.
	MaxRecords = 1024

	minHeader   = 2 // "{}"
	headerDepth = 4
	readBuffer  = 64 << 10
)

// PayloadCeiling is the largest payload a hub takes whose largest carried body has maxBody bytes: one record of that
// size always fits.
func PayloadCeiling(maxBody int) int { return maxBody + MaxOrigin }

// Frame is one frame as read: its type and header, parsed once, and its payload.
type Frame struct {
	Type wire.LinkType
	// Payload belongs to the caller.
	Payload []byte

	header wire.Object // aliases the reader's buffer
}

// Reader cuts frames out of a byte stream.
type Reader struct {
	src        *bufio.Reader
	maxPayload int
	header     []byte
}

// NewReader reads from src through a buffer of its own. Payloads above maxPayload bytes are refused.
func NewReader(src io.Reader, maxPayload int) *Reader {
	return &Reader{src: bufio.NewReaderSize(src, readBuffer), maxPayload: maxPayload}
}

// Next returns the next frame. The frame's parsed header is valid until the next call; its payload is freshly allocated.
// The error is io.EOF between frames, io.ErrUnexpectedEOF within one, an *Error for a frame that must be refused, or
// what the stream itself failed with. After an error the stream is useless.
func (r *Reader) Next() (Frame, error) {
	var prefix [PrefixBytes]byte
	if _, err := io.ReadFull(r.src, prefix[:]); err != nil {
		return Frame{}, err
	}
	headerLen := int64(binary.BigEndian.Uint32(prefix[:4]))
	payloadLen := int64(binary.BigEndian.Uint32(prefix[4:]))
	if err := r.checkLengths(headerLen, payloadLen); err != nil {
		return Frame{}, err
	}
	return r.read(int(headerLen), int(payloadLen))
}

func (r *Reader) checkLengths(header, payload int64) error {
	switch {
	case header < minHeader:
		return protocolError("header of %d bytes", header)
	case header > MaxHeader:
		return tooLarge("header of %d bytes, at most %d", header, MaxHeader)
	case payload > int64(r.maxPayload):
		return tooLarge("payload of %d bytes, at most %d", payload, r.maxPayload)
	}
	return nil
}

func (r *Reader) read(headerLen, payloadLen int) (Frame, error) {
	if cap(r.header) < headerLen {
		r.header = make([]byte, headerLen)
	}
	r.header = r.header[:headerLen]
	if _, err := io.ReadFull(r.src, r.header); err != nil {
		return Frame{}, cutShort(err)
	}
	f, err := parseHeader(r.header)
	if err != nil {
		return Frame{}, err
	}
	if payloadLen == 0 {
		return f, nil
	}
	if f.Type != wire.LinkRecords {
		return Frame{}, protocolError("%s with a payload", f.Type)
	}
	f.Payload = make([]byte, payloadLen)
	_, err = io.ReadFull(r.src, f.Payload)
	return f, cutShort(err)
}

// cutShort turns the end of the stream inside a frame into io.ErrUnexpectedEOF.
func cutShort(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseHeader reads the header's JSON and its type.
func parseHeader(header []byte) (Frame, error) {
	obj, err := wire.ParseObject(header, wire.Limits{MaxBytes: MaxHeader, MaxDepth: headerDepth})
	if err != nil {
		return Frame{}, protocolError("header: %v", err)
	}
	raw, _ := obj.Get("type")
	name, ok := raw.Text()
	if !ok {
		return Frame{}, protocolError("header without a type")
	}
	t := wire.LinkType(name)
	switch t {
	case wire.LinkHello, wire.LinkRecords, wire.LinkAck, wire.LinkBye, wire.LinkProfile, wire.LinkBeat:
		return Frame{Type: t, header: obj}, nil
	}
	return Frame{}, protocolError("frame of a type outside relay version 1")
}

// appendPrefix reserves the two lengths; endHeader fills them in.
func appendPrefix(dst []byte) []byte { return append(dst, make([]byte, PrefixBytes)...) }

// endHeader sets the lengths of the frame whose prefix starts at start and whose header ends dst.
func endHeader(dst []byte, start, payload int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-PrefixBytes))
	binary.BigEndian.PutUint32(dst[start+4:], uint32(payload))
	return dst
}
